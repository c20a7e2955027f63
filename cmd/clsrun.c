/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "cmd/cli.h"

/*
 * Die of what the program died of, so that a shell or make sees no
 * difference.  The core would be ours, not the program's: none is wanted, and
 * a core_pattern that is a pipe ignores the limit of 0.
 */
static int die_of(int number)
{
	const struct rlimit none = { 0, 0 };
	sigset_t set;

	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_CORE, &none);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number;
}

int main(int argc, char **argv)
{
	_cleanup_(cli_done) struct cli cli = { 0 };
	struct outcome outcome = { 0 };
	struct error err = { 0 };
	int r;

	r = cli_begin(&cli, CLI_RUN, argc, argv);
	if (r >= 0)
		return r;

	r = tracer_run(&cli.options, cli.program, &outcome, &err);
	if (r) {
		cli_say(&cli, "%s", err.text);
		return r > 0 ? r : TRACER_FAILED;
	}
	cli_say_unmatched(&cli, &outcome);
	if (!outcome.ended)
		return EXIT_SUCCESS; /* let go, it runs on */
	if (WIFSIGNALED(outcome.status))
		return die_of(WTERMSIG(outcome.status));
	return WEXITSTATUS(outcome.status);
}
