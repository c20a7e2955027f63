/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/call.h"
#include "tracer/process/mem.h"

/*
 * Calls with a relative timeout that we may have to make again: our interrupt
 * made them return EINTR, or the kernel would go on with pointers to memory
 * that is closed by now.  They must then wait only for the rest.
 */
static const struct timed {
	int number;
	int arg;
	bool pointer; /* to a struct timespec; else milliseconds */
} timed[] = {
	{ SYS_epoll_wait, 3, false },	  { SYS_epoll_pwait, 3, false },
	{ SYS_epoll_pwait2, 3, true },	  { SYS_rt_sigtimedwait, 2, true },
	{ SYS_semtimedop, 3, true },	  { SYS_io_getevents, 4, true },
	{ SYS_io_pgetevents, 4, true },	  { SYS_recvmmsg, 4, true },
	{ SYS_poll, 2, false },		  { SYS_nanosleep, 0, true },
	{ SYS_clock_nanosleep, 2, true },
};

enum { SECOND = 1000000000 };

static const struct timed *find(const struct call *call)
{
	if (call->number == SYS_clock_nanosleep &&
	    call->args[1] & TIMER_ABSTIME)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(timed); i++)
		if (timed[i].number == call->number)
			return &timed[i];
	return NULL;
}

bool timeout_counts(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(timed); i++)
		if (timed[i].number == number)
			return true;
	return false;
}

/* Nanoseconds, or 0 for "for ever", "not at all" and what is not valid. */
static uint64_t length(struct process *process, const struct timed *t,
		       const struct call *call)
{
	uint64_t arg = call->args[t->arg];
	struct timespec time;

	if (!t->pointer)
		return (int)arg > 0 ? (uint64_t)(int)arg * 1000000 : 0;
	if (!arg || mem_read(process->mem, arg, &time, sizeof(time)) < 0 ||
	    time.tv_sec < 0 || time.tv_sec > INT32_MAX || time.tv_nsec < 0 ||
	    time.tv_nsec >= SECOND)
		return 0;
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

/*
 * Calls on a socket, which has its timeout in itself: they end with EINTR
 * where those without one are made again by the kernel.
 */
static const struct {
	short number;
	short option;
} on_socket[] = {
	{ SYS_read, SO_RCVTIMEO },     { SYS_readv, SO_RCVTIMEO },
	{ SYS_recvfrom, SO_RCVTIMEO }, { SYS_recvmsg, SO_RCVTIMEO },
	{ SYS_accept, SO_RCVTIMEO },   { SYS_accept4, SO_RCVTIMEO },
	{ SYS_write, SO_SNDTIMEO },    { SYS_writev, SO_SNDTIMEO },
	{ SYS_sendto, SO_SNDTIMEO },   { SYS_sendmsg, SO_SNDTIMEO },
	{ SYS_connect, SO_SNDTIMEO },
};

/* Nanoseconds; 0 for none, and where nobody tells. */
static uint64_t length_of_socket(pid_t pid, int number, int fd)
{
	struct timeval time = { 0 };
	socklen_t size = sizeof(time);
	size_t i = 0;

	while (i < ARRAY_SIZE(on_socket) && on_socket[i].number != number)
		i++;
	if (i == ARRAY_SIZE(on_socket))
		return 0;
	_cleanup_(closep) int process = (int)syscall(SYS_pidfd_open, pid, 0);
	_cleanup_(closep) int socket =
		process < 0 ? -1
			    : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	if (socket < 0 ||
	    getsockopt(socket, SOL_SOCKET, on_socket[i].option, &time, &size) <
		    0 ||
	    time.tv_sec > INT32_MAX)
		return 0;
	return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_usec * 1000;
}

int timeout_over(struct thread *thread, const struct user_regs_struct *regs)
{
	int number = (int)regs->orig_rax;
	uint64_t now = session_now(), full;

	if (!thread->call_began)
		thread->call_began = now;
	full = length_of_socket(thread->process->pid, number, (int)regs->rdi);
	if (!full || now - thread->call_began < full)
		return 0;
	return number == SYS_connect ? -EINPROGRESS : -EAGAIN;
}

static int put_rest(struct session *session, struct thread *thread,
		    const struct timed *t, const struct call *call,
		    uint64_t rest)
{
	struct inflight *inflight = call_inflight(thread, call);
	struct timespec time = { .tv_sec = (time_t)(rest / SECOND),
				 .tv_nsec = (long)(rest % SECOND) };
	int r;

	if (!inflight)
		return -ENOMEM;
	inflight->args[t->arg] = (rest + 999999) / 1000000;
	if (t->pointer) {
		r = room_take(&session->rooms, thread, sizeof(time),
			      &inflight->timeout_room);
		if (r == 0)
			r = mem_write(session->process->mem,
				      inflight->timeout_room.addr, &time,
				      sizeof(time));
		if (r < 0)
			return r;
		inflight->args[t->arg] = inflight->timeout_room.addr;
	}
	inflight->changed |= (uint8_t)(1 << t->arg);
	return call_set(thread, call->number, inflight->args);
}

int timeout_enter(struct session *session, struct thread *thread,
		  const struct call *call)
{
	const struct timed *t = find(call);
	uint64_t now, full;

	if (!t)
		return 0;
	full = length(session->process, t, call);
	if (!full)
		return 0;

	now = session_now();
	/* Of a call that was under way when we came, the start is unknown. */
	if (!thread->restarted || !thread->call_deadline) {
		thread->call_deadline = now + full;
		return 0;
	}
	if (t->pointer && !session->process->scratch.start)
		return 0;
	return put_rest(
		session, thread, t, call,
		thread->call_deadline > now ? thread->call_deadline - now : 0);
}
