/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "cmd/warden.h"

/* Not an error: the tracing is complete.  But nobody asked it to end. */
static void say_ended(const struct cli *cli, int status)
{
	if (cli->options.verbose < 0)
		return;
	if (WIFSIGNALED(status))
		cli_say(cli, "process %d was killed by signal %d (%s)",
			(int)cli->pid, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		cli_say(cli, "process %d ended with status %d", (int)cli->pid,
			WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	_cleanup_(cli_done) struct cli cli = { 0 };
	struct outcome outcome = { 0 };
	struct error err = { 0 };
	int r;

	r = cli_begin(&cli, CLI_ATTACH, argc, argv);
	if (r >= 0)
		return r;

	/* Undivided the tracer sees that it is asked to trace itself. */
	r = cli.pid == getpid() ? WARDEN_TRACER
				: warden_divide(cli.options.exit_kill, &err);
	if (r != WARDEN_TRACER) {
		if (err.text[0])
			cli_say(&cli, "%s", err.text);
		return r;
	}
	r = tracer_attach(&cli.options, cli.pid, &outcome, &err);
	if (r) {
		cli_say(&cli, "%s", err.text);
		return r > 0 ? r : TRACER_FAILED;
	}
	cli_say_unmatched(&cli, &outcome);
	if (outcome.ended)
		say_ended(&cli, outcome.status);
	return EXIT_SUCCESS;
}
