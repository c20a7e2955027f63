/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/unit/live.h"

static void remove_queue(int id)
{
	msgctl(id, IPC_RMID, NULL);
}

static void remove_semaphores(int id)
{
	semctl(id, 0, IPC_RMID);
}

static int filled_queue(struct scene *s)
{
	long message[3] = { 1, 2, 3 };

	s->id = msgget(IPC_PRIVATE, 0600);
	s->clean = remove_queue;
	if (s->id < 0 || msgsnd(s->id, message, 16, 0))
		abort();

	return s->id;
}

static int semaphores(struct scene *s)
{
	s->id = semget(IPC_PRIVATE, 1, 0600);
	s->clean = remove_semaphores;

	return s->id;
}

static void set_msgrcv(struct scene *s)
{
	SCENE_CALL(s, SYS_msgrcv, filled_queue(s), P(scene_space(s, 48)), 40, 0,
		   0);
}

static void set_msgctl(struct scene *s)
{
	SCENE_CALL(s, SYS_msgctl, filled_queue(s), IPC_STAT,
		   P(scene_space(s, 120)));
}

static void set_semop(struct scene *s)
{
	struct sembuf up = { 0, 1, 0 };

	SCENE_CALL(s, SYS_semop, semaphores(s),
		   P(scene_data(s, &up, sizeof(up))), 1);
}

static void set_semctl(struct scene *s)
{
	SCENE_CALL(s, SYS_semctl, semaphores(s), 0, IPC_STAT,
		   P(scene_space(s, 104)));
}

static void set_shmctl(struct scene *s)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600);

	/* It lives on while it is attached. */
	if (id < 0 || shmat(id, NULL, 0) == (void *)-1)
		abort();
	shmctl(id, IPC_RMID, NULL);
	SCENE_CALL(s, SYS_shmctl, id, IPC_STAT, P(scene_space(s, 112)));
}

static void unlink_queue(int id)
{
	mq_unlink("/cls-live");
}

static void set_mq_open(struct scene *s)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 64 };

	s->clean = unlink_queue;
	SCENE_CALL(s, SYS_mq_open, P(scene_text(s, "cls-live")),
		   O_RDWR | O_CREAT, 0600,
		   P(scene_data(s, &attr, sizeof(attr))));
}

static int open_queue(void)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 64 };
	int queue = mq_open("/cls-live", O_RDWR | O_CREAT, 0600, &attr);

	mq_unlink("/cls-live");
	if (queue >= 0 && mq_send(queue, "hello", 5, 7))
		abort();

	return queue;
}

static void set_mq_receive(struct scene *s)
{
	SCENE_CALL(s, SYS_mq_timedreceive, open_queue(), P(scene_space(s, 64)),
		   64, P(scene_space(s, 4)), 0);
}

static void set_mq_getattr(struct scene *s)
{
	SCENE_CALL(s, SYS_mq_getsetattr, open_queue(), 0,
		   P(scene_space(s, 64)));
}

static void set_io_setup(struct scene *s)
{
	uint64_t context = 0;

	SCENE_CALL(s, SYS_io_setup, 4, P(scene_data(s, &context, 8)));
}

static void set_getevents(struct scene *s)
{
	struct timespec now = { 0, 0 };
	aio_context_t context = 0;
	static char byte;
	struct iocb request = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_buf = P(&byte),
		.aio_nbytes = 1,
	}, *list = &request;

	request.aio_fildes = (uint32_t)scene_file();
	if (syscall(SYS_io_setup, 4, &context) == 0)
		syscall(SYS_io_submit, context, 1, &list);
	SCENE_CALL(s, SYS_io_getevents, context, 1, 3, P(scene_space(s, 96)),
		   P(scene_data(s, &now, sizeof(now))));
}

static const struct live_case rows[] = {
	LIVE_ROW(msgrcv, 0),
	LIVE_ROW(msgctl, LIVE_CHANGES),
	LIVE_ROW(semop, 0),
	LIVE_ROW(semctl, LIVE_CHANGES),
	LIVE_ROW(shmctl, LIVE_CHANGES),
	LIVE_ROW(mq_open, LIVE_MAY_FAIL),
	LIVE_ROW(mq_receive, LIVE_MAY_FAIL),
	LIVE_ROW(mq_getattr, LIVE_MAY_FAIL),
	LIVE_ROW(io_setup, LIVE_CHANGES | LIVE_MAY_FAIL),
	LIVE_ROW(getevents, LIVE_CHANGES | LIVE_MAY_FAIL),
};

const struct live_cases live_queues = { rows, ARRAY_SIZE(rows) };
