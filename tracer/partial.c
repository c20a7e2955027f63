/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "tracer/jobs.h"
#include "tracer/partial.h"
#include "tracer/process/inject.h"
#include "tracer/process/mem.h"

/* Which arguments they are; -1: there is none. */
static const struct row {
	int number;
	signed char fd, buffer, count, flags;
	uint64_t with, without; /* these flags */
} rows[] = {
	{ SYS_write, 0, 1, 2, -1, 0, 0 },
	{ SYS_sendto, 0, 1, 2, 3, 0, MSG_DONTWAIT },
	{ SYS_recvfrom, 0, 1, 2, 3, MSG_WAITALL, MSG_DONTWAIT },
	{ SYS_sendfile, 0, -1, 3, -1, 0, 0 },
};

static unsigned long long *argument(struct user_regs_struct *regs, int i)
{
	unsigned long long *const args[] = {
		&regs->rdi, &regs->rsi, &regs->rdx,
		&regs->r10, &regs->r8,	&regs->r9
	};

	return args[i];
}

/*
 * Only of streams: a device may mean something by taking less.  What is sent
 * from a file to a pipe is what there is room for.
 */
static bool is_stream(pid_t tid, uint64_t fd, bool writes)
{
	static const char *const kind[] = { "socket:", "pipe:", "/dev/pts/",
					    "/dev/tty" };
	char path[64], link[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", tid, (int)fd);
	length = readlink(path, link, sizeof(link) - 1);
	link[length > 0 ? length : 0] = '\0';
	for (size_t i = 0; i < (writes ? ARRAY_SIZE(kind) : 1); i++)
		if (!strncmp(link, kind[i], strlen(kind[i])))
			return true;
	return false;
}

/* One that does not wait returns less by itself; nor has it @others. */
static bool waits(pid_t tid, uint64_t fd, unsigned others)
{
	char path[64], line[64];
	unsigned flags;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", tid, (int)fd);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "flags: %o", &flags) == 1)
			return !(flags & (O_NONBLOCK | others));
	return false;
}

static const struct row *find(uint64_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if ((uint64_t)rows[i].number == number)
			return &rows[i];
	return NULL;
}

static bool returned_early(const struct thread *thread, const struct row *row,
			   struct user_regs_struct *regs)
{
	uint64_t flags = row->flags < 0 ? 0 : *argument(regs, row->flags);
	uint64_t fd = *argument(regs, row->fd);

	return (int64_t)regs->rax > 0 &&
	       regs->rax < *argument(regs, row->count) &&
	       (flags & row->with) == row->with && !(flags & row->without) &&
	       is_stream(thread->tid, fd, row->number == SYS_write) &&
	       waits(thread->tid, fd, 0);
}

/* While we leave: who reads the other end of the pipe may never do so. */
static bool has_time(const struct session *session)
{
	return !session_is_over(session) || session_now() < session->leave_ns;
}

static bool may_go_on(const struct session *session, struct thread *thread)
{
	return has_time(session) && !session_signal_waits(session, thread) &&
	       !jobs_stopping(session->process, thread);
}

static bool is_vector(uint64_t number)
{
	return number == SYS_writev || number == SYS_sendmsg;
}

/* Only the first call of several would be judged by a filter of its own, and
 * a pipe of packets (O_DIRECT) keeps the bounds of calls. */
static bool vector_early(const struct thread *thread, uint64_t number,
			 const uint64_t args[6])
{
	const uint64_t alone = MSG_DONTWAIT | MSG_OOB | MSG_EOR | MSG_ZEROCOPY;
	bool writes = number == SYS_writev;

	return is_vector(number) && !thread->process->seccomp &&
	       (writes || !(args[2] & alone)) &&
	       is_stream(thread->tid, args[0], writes) &&
	       waits(thread->tid, args[0], O_DIRECT);
}

/* The rest of the piece that byte @done lies in; 0: nothing is left. */
static uint64_t vector_rest(const struct thread *thread, uint64_t number,
			    const uint64_t args[6], uint64_t done,
			    uint64_t *addr)
{
	enum { PIECES = 1024 /* UIO_MAXIOV */ };
	const uint64_t most = 0x7ffff000; /* MAX_RW_COUNT, of all */
	uint64_t array = args[1], count = args[2], from = 0;
	int mem = thread->process->mem;
	struct msghdr message;
	struct iovec piece;

	if (number == SYS_sendmsg) {
		if (mem_read(mem, args[1], &message, sizeof(message)) < 0)
			return 0;
		array = (uintptr_t)message.msg_iov;
		count = message.msg_iovlen;
	}
	for (uint64_t i = 0; i < min_u64(count, PIECES); i++) {
		if (mem_read(mem, array + i * sizeof(piece), &piece,
			     sizeof(piece)) < 0)
			return 0;
		if (done < from + piece.iov_len) {
			*addr = (uintptr_t)piece.iov_base + (done - from);
			return min_u64(from + piece.iov_len, most) - done;
		}
		from += piece.iov_len;
		if (from >= most)
			return 0;
	}
	return 0;
}

static void begin_again(struct thread *thread, struct user_regs_struct *regs,
			uint64_t number)
{
	regs->rax = number;
	regs->orig_rax = (uint64_t)-1;
	regs->rip -= 2;
	if (trace_set_regs(thread->tid, regs) == 0)
		thread->restarted = true;
}

/* The call with a vector, or one of those that were made for its pieces. */
static bool vector_again(struct session *session, struct thread *thread,
			 struct user_regs_struct *regs)
{
	uint64_t number = (uint64_t)thread->partial_vector, args[6], addr, size;
	bool first = !number;

	if ((int64_t)regs->rax <= 0)
		return false;
	for (int i = 0; i < 6; i++)
		args[i] = first ? *argument(regs, i) : thread->partial_args[i];
	if (first) {
		number = regs->orig_rax;
		if (!thread->prodded || !vector_early(thread, number, args))
			return false;
	} else if (regs->rax < regs->rdx && !thread->prodded) {
		return false; /* not because of us */
	}
	size = vector_rest(thread, number, args, thread->partial + regs->rax,
			   &addr);
	if (!size || !may_go_on(session, thread))
		return false;
	for (int i = 0; i < 6; i++)
		thread->partial_args[i] = args[i];
	thread->partial_vector = (int)number;
	thread->partial += regs->rax;
	regs->rsi = addr;
	regs->rdx = size;
	regs->r10 = number == SYS_sendmsg ? args[2] : args[3];
	regs->r8 = regs->r9 = 0; /* sent to who is connected */
	begin_again(thread, regs,
		    number == SYS_sendmsg ? SYS_sendto : SYS_write);
	return true;
}

bool partial_again(struct session *session, struct thread *thread,
		   struct user_regs_struct *regs)
{
	const struct row *row = find(regs->orig_rax);

	if (thread->partial_vector || is_vector(regs->orig_rax))
		return vector_again(session, thread, regs);
	if (!row || !thread->prodded || !has_time(session) ||
	    !returned_early(thread, row, regs) || !may_go_on(session, thread))
		return false;
	if (!thread->partial)
		for (int i = 0; i < 6; i++)
			thread->partial_args[i] = *argument(regs, i);
	thread->partial += regs->rax;
	if (row->buffer >= 0)
		*argument(regs, row->buffer) += regs->rax;
	*argument(regs, row->count) -= regs->rax;
	begin_again(thread, regs, regs->orig_rax);
	return true;
}

void partial_exit(struct session *session, struct thread *thread,
		  int64_t result)
{
	uint64_t number = (uint64_t)thread->last_call;
	bool early = thread->prodded && result > 0 &&
		     (find(number) || is_vector(number));
	struct user_regs_struct regs;

	if ((!thread->partial && !early) ||
	    trace_get_regs(thread->tid, &regs) < 0 ||
	    (int64_t)regs.orig_rax < 0 || /* it is to be begun again */
	    partial_again(session, thread, &regs) || !thread->partial)
		return;
	/* Interrupted again, the kernel or session_restart() repeats it. */
	if ((result == -EINTR || (result <= -512 && result >= -516)) &&
	    has_time(session) && !session_signal_waits(session, thread))
		return;
	partial_settle(thread);
}

void partial_settle(struct thread *thread)
{
	struct user_regs_struct regs;

	if (!thread->partial || trace_get_regs(thread->tid, &regs) < 0)
		return;
	if ((int64_t)regs.orig_rax < 0) /* not begun again */
		regs.rip += 2;
	else if (inject_at_entry(thread))
		regs.orig_rax = (uint64_t)-1;
	else if ((int64_t)regs.rax > 0)
		thread->partial += regs.rax;
	regs.rax = thread->partial;
	for (int i = 0; i < 6; i++)
		*argument(&regs, i) = thread->partial_args[i];
	(void)!trace_set_regs(thread->tid, &regs);
	thread->partial = 0;
	thread->partial_vector = 0;
}

bool partial_stays(struct session *session, struct thread *thread)
{
	struct user_regs_struct regs;

	if (!thread->partial)
		return false;
	if (!has_time(session) || thread->stop.kind == STOP_SIGNAL)
		partial_settle(thread);
	else if (thread->stop.kind == STOP_SYSCALL &&
		 !inject_at_entry(thread) &&
		 trace_get_regs(thread->tid, &regs) == 0)
		partial_exit(session, thread, (int64_t)regs.rax);
	return thread->partial;
}

void partial_hurry(struct session *session)
{
	if (has_time(session))
		return;
	table_for_each(&session->process->threads, s)
	{
		const struct thread *thread = s->value;

		if (thread->partial && thread->state == THREAD_RUNNING)
			trace_interrupt(thread->tid);
	}
}
