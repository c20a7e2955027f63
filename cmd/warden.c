/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cmd/warden.h"
#include "tracer/process/stop.h"
#include "tracer/tracer.h"
#include "tracer/wake.h"

/* The tracer holds more memory, but must not be the one that is killed. */
static void offer_ourselves(void)
{
	_cleanup_(closep) int fd =
		open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "1000", 4);
}

/* By this name, and in this session, no kill that is for others finds it. */
static int become_tracer(pid_t warden, int signal)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	sigset_t set;

	setsid();
	prctl(PR_SET_NAME, "cls-tracer");
	sigaction(signal, &by_default, NULL);
	prctl(PR_SET_PDEATHSIG, signal);
	if (getppid() != warden) /* it was killed before */
		raise(signal);
	/* The others come through when there are handlers for them. */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	return WARDEN_TRACER;
}

/* What was ignored when we were started (nohup) is pending all the same. */
static bool is_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 &&
	       action.sa_handler == SIG_IGN;
}

static int watch(pid_t tracer, const sigset_t *set, struct stop *ret)
{
	int r, signal;

	for (;;) {
		r = stop_wait(tracer, false, ret);
		if (r != -EAGAIN && (r < 0 || stop_is_end(ret)))
			return r;
		if (sigwait(set, &signal) == 0 && signal != SIGCHLD &&
		    !is_ignored(signal))
			kill(tracer, signal);
	}
}

int warden_divide(bool kill, struct error *err)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	struct stop end = { 0 };
	pid_t warden = getpid(), tracer;
	sigset_t set;
	int r;

	wake_signals(&set);
	sigaddset(&set, SIGCHLD);
	sigaction(SIGCHLD, &by_default, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	tracer = fork();
	if (tracer == 0)
		return become_tracer(warden, kill ? SIGKILL : SIGTERM);
	if (tracer < 0) {
		r = -errno;
		error_set(err, r, "cannot start the tracer: %s", strerror(-r));
		return TRACER_FAILED;
	}
	offer_ourselves();
	r = watch(tracer, &set, &end);
	if (r == 0 && end.kind == STOP_EXITED)
		return end.value;
	error_set(err, r, "the tracer was killed (%s)",
		  r < 0 ? strerror(-r) : strsignal(end.value));
	return TRACER_FAILED;
}
