/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tracer/family.h"
#include "tracer/own_limits.h"
#include "tracer/process/permission.h"
#include "tracer/session.h"
#include "tracer/tracer.h"

/*
 * The child waits until it is seized, so that nothing of the program runs
 * unseen; between fork and exec only our own code runs in it.
 */
static void child(const struct session *session, char *const argv[], int go,
		  int failed)
{
	char byte;
	int number;

	while (read(go, &byte, 1) < 0 && errno == EINTR)
		;
	/* Without -o our standard output is the log's. */
	if (!session->options->output)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	limits_restore();
	execvp(argv[0], argv);
	number = errno;
	(void)!write(failed, &number, sizeof(number));
	_exit(TRACER_NOT_FOUND);
}

static int adopt(struct session *session, pid_t pid)
{
	struct thread *thread;
	int r = process_new(pid, &session->process);

	if (r == 0)
		r = process_add(session->process, pid, &thread);
	if (r < 0)
		return r;
	session->process->options = TRACE_OPTIONS;
	if (session->options->exit_kill)
		session->process->options |= TRACE_EXIT_KILL;
	if (seccomp_wanted(session))
		session->process->options |= TRACE_SECCOMP;
	r = trace_seize(pid, session->process->options);
	if (r == 0)
		thread->state = THREAD_RUNNING;
	return r;
}

int spawn(struct session *session, char *const argv[], struct error *err)
{
	_cleanup_(closep) int go_read = -1;
	_cleanup_(closep) int go_write = -1;
	_cleanup_(closep) int failed = -1;
	int go[2], fail[2];
	pid_t pid;
	int r;

	if (pipe2(go, O_CLOEXEC) < 0)
		return error_set(err, -errno, "cannot make a pipe: %s",
				 strerror(errno));
	go_read = go[0];
	go_write = go[1];
	if (pipe2(fail, O_CLOEXEC) < 0)
		return error_set(err, -errno, "cannot make a pipe: %s",
				 strerror(errno));
	session->exec_failed = fail[0];
	failed = fail[1];

	pid = fork();
	if (pid < 0)
		return error_set(err, -errno, "cannot fork: %s",
				 strerror(errno));
	if (pid == 0)
		child(session, argv, go_read, failed);

	r = adopt(session, pid);
	if (r < 0)
		r = permission_explain(pid, r, PERMISSION_YAMA, err);
	else
		r = family_log(session, err);
	if (r < 0) {
		kill(pid, SIGKILL);
		return r;
	}
	(void)!write(go_write, "", 1);
	return 0;
}

static int exec_result(struct session *session)
{
	int number = 0;
	ssize_t got;

	do
		got = read(session->exec_failed, &number, sizeof(number));
	while (got < 0 && errno == EINTR);
	return got == sizeof(number) ? -number : 0;
}

int spawn_explain(struct session *session, const char *name, struct error *err)
{
	int r = exec_result(session);

	if (r == 0)
		return 0;
	error_set(err, r, "cannot execute '%s': %s", name, strerror(-r));
	return r == -ENOENT ? TRACER_NOT_FOUND : TRACER_NOT_EXECUTABLE;
}
