/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/*
 * Calls of which only the kernel knows what they write: a vector of many
 * buffers, its own memory by its number, as many values as a set has
 * semaphores, and the array behind the structure that an ioctl(2) is told of.
 */
#include <fcntl.h>
#include <linux/fsmap.h>
#include <linux/types.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGE_SIZE = 4096, MANY = 100, SEMAPHORES = 5 };

static _Alignas(PAGE_SIZE) char box[2 * PAGE_SIZE];
static _Alignas(PAGE_SIZE) char map[PAGE_SIZE];
static _Alignas(PAGE_SIZE) struct iovec vector[MANY];
/* Watched together with the box, it is more than what is compared. */
static char huge[2 << 20];

static void many_buffers(void)
{
	char data[4 * MANY];
	int fds[2];

	memset(data, 'v', sizeof(data));
	for (int i = 0; i < MANY; i++)
		vector[i] = (struct iovec){ box + 16 * i, 4 };
	expect(pipe(fds) == 0);
	expect(write(fds[1], data, sizeof(data)) == sizeof(data));
	expect(readv(fds[0], vector, MANY) == sizeof(data));
}

static void to_itself(void)
{
	char data[8] = "itself!";
	struct iovec from = { data, 8 }, to = { box + PAGE_SIZE - 4, 8 };

	expect(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == 8);
	to.iov_base = (void *)1;
	expect(process_vm_writev(getpid(), &from, 1, &to, 1, 0) == -1);
}

static void semaphores(void)
{
	unsigned short value[SEMAPHORES] = { 0x101, 0x202, 0x303, 0x404, 0x55 };
	int id = semget(IPC_PRIVATE, SEMAPHORES, 0600);

	expect(id >= 0);
	expect(semctl(id, 0, SETALL, value) == 0);
	expect(semctl(id, 0, GETALL, box + PAGE_SIZE + 64) == 0);
	expect(semctl(id, 0, IPC_RMID) == 0);
}

/* Of "/", where its file system can tell that; else it fails as it does. */
static void array_behind(void)
{
	struct fsmap_head *head = (struct fsmap_head *)map;
	int fd = open("/", O_RDONLY);

	expect(fd >= 0);
	memset(&head->fmh_keys[1], 0xff, sizeof(head->fmh_keys[1]));
	memset(head->fmh_keys[1].fmr_reserved, 0, 24);
	head->fmh_keys[1].fmr_length = 0;
	head->fmh_count = 16;
	if (ioctl(fd, FS_IOC_GETFSMAP, head) != 0)
		perror("GETFSMAP");
	printf("%u, %d\n", head->fmh_entries, head->fmh_recs[1].fmr_length > 0);
	close(fd);
}

int main(void)
{
	box[0] = 0; /* a touch that is always seen */
	huge[0] = 1;
	many_buffers();
	to_itself();
	semaphores();
	array_behind();
	printf("%lx\n", hash(box, sizeof(box)));
	return 0;
}
