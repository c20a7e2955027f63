/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tracer/jobs.h"
#include "tracer/partial.h"
#include "tracer/process/inject.h"

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

/* One that does not wait returns less by itself. */
static bool waits(pid_t tid, uint64_t fd)
{
	char path[64], line[64];
	unsigned flags;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", tid, (int)fd);
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "flags: %o", &flags) == 1)
			return !(flags & O_NONBLOCK);
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
	       waits(thread->tid, fd);
}

/* While we leave: who reads the other end of the pipe may never do so. */
static bool has_time(const struct session *session)
{
	return !session_is_over(session) || session_now() < session->leave_ns;
}

bool partial_again(struct session *session, struct thread *thread,
		   struct user_regs_struct *regs)
{
	const struct row *row = find(regs->orig_rax);

	if (!row || !thread->prodded || !has_time(session) ||
	    !returned_early(thread, row, regs) ||
	    session_signal_waits(session, thread) ||
	    jobs_stopping(session->process, thread))
		return false;
	if (!thread->partial)
		for (int i = 0; i < 6; i++)
			thread->partial_args[i] = *argument(regs, i);
	thread->partial += regs->rax;
	if (row->buffer >= 0)
		*argument(regs, row->buffer) += regs->rax;
	*argument(regs, row->count) -= regs->rax;
	regs->rax = regs->orig_rax;
	regs->orig_rax = (uint64_t)-1;
	regs->rip -= 2;
	if (trace_set_regs(thread->tid, regs) == 0)
		thread->restarted = true;
	return true;
}

void partial_exit(struct session *session, struct thread *thread,
		  int64_t result)
{
	bool early = thread->prodded && result > 0 &&
		     find((uint64_t)thread->last_call);
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
