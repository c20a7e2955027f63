/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "cmd/choice.h"
#include "cmd/value.h"
#include "disasm/access.h"
#include "tracer/component/component.h"
#include "tracer/event/event.h"
#include "tracer/guard/spec.h"

/* A sampled page costs about 100 us a turn: more is --every in disguise. */
static const double highest_hz = 1000;

static int set_watch(struct cli *cli, const char *argument, struct error *err)
{
	struct options *options = &cli->options;
	struct spec spec;
	int r;

	if (!*argument)
		return error_set(err, -EINVAL,
				 "-w: the watch is empty: name a SYMBOL, "
				 "0xADDR+LEN, class:GLOB or map:NAME, or leave "
				 "-w out to watch all objects");
	/* The sentence is about the text alone, so it can be given now. */
	r = spec_parse(argument, &spec, err);
	if (r < 0)
		return r;
	cli->watches[options->nwatches++] = argument;
	return 0;
}

static int set_on(struct cli *cli, const char *argument, struct error *err)
{
	static const struct {
		const char *name;
		uint8_t on;
	} kinds[] = {
		{ "read", ACCESS_READ },
		{ "write", ACCESS_WRITE },
		{ "all", ACCESS_RW },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(argument, kinds[i].name))
			continue;
		cli->options.on = kinds[i].on;
		return 0;
	}
	return error_set(err, -EINVAL,
			 "--on %s: the accesses to report are read, write or "
			 "all",
			 argument);
}

static int set_policy(struct cli *cli, enum policy policy, struct error *err)
{
	enum policy before = cli->options.policy;

	if (before != POLICY_DEFAULT && before != policy)
		return error_set(err, -EINVAL,
				 "--every, --first and --sample exclude each "
				 "other: give one of them");
	cli->options.policy = policy;
	return 0;
}

static int set_every(struct cli *cli, const char *argument, struct error *err)
{
	return set_policy(cli, POLICY_EVERY, err);
}

static int set_first(struct cli *cli, const char *argument, struct error *err)
{
	return set_policy(cli, POLICY_FIRST, err);
}

static int set_sample(struct cli *cli, const char *argument, struct error *err)
{
	int r = 0;

	if (argument)
		r = value_positive(argument, highest_hz, &cli->options.hz);
	if (r < 0)
		return error_set(err, r,
				 "--sample=%s: HZ is a number above 0, at most "
				 "%.0f: how many times a second to look",
				 argument, highest_hz);
	return set_policy(cli, POLICY_SAMPLE, err);
}

static int set_no_run_ahead(struct cli *cli, const char *argument,
			    struct error *err)
{
	cli->options.no_run_ahead = true;
	return 0;
}

static int set_no_syscalls(struct cli *cli, const char *argument,
			   struct error *err)
{
	cli->options.no_syscalls = true;
	return 0;
}

static int set_stacks(struct cli *cli, const char *argument, struct error *err)
{
	struct options *options = &cli->options;

	options->stacks = true;
	options->stacks_form = STACKS_BY_LOG;
	if (!argument)
		return 0;
	if (!strcmp(argument, "inline"))
		options->stacks_form = STACKS_INLINE;
	else if (!strcmp(argument, "id"))
		options->stacks_form = STACKS_ONCE;
	else if (!strcmp(argument, "none"))
		options->stacks = false;
	else
		return error_set(
			err, -EINVAL,
			"--stacks=%s: call stacks are inline (in each access "
			"record), id (each once, in a record of its own) or "
			"none",
			argument);
	return 0;
}

static int set_verify_stacks(struct cli *cli, const char *argument,
			     struct error *err)
{
	cli->options.verify_stacks = true;
	return cli->options.stacks ? 0 : set_stacks(cli, NULL, err);
}

static int set_depth(struct cli *cli, const char *argument, struct error *err)
{
	uint64_t depth;
	int r;

	r = value_count(argument, 1, EVENT_FRAMES, &depth);
	if (r < 0)
		return error_set(err, r,
				 "--depth %s: the number of stack frames is "
				 "from 1 to %d",
				 argument, EVENT_FRAMES);
	cli->options.depth = (unsigned)depth;
	return 0;
}

static int set_stack_hz(struct cli *cli, const char *argument,
			struct error *err)
{
	struct options *options = &cli->options;
	int r = value_positive(argument, highest_hz, &options->stack_hz);

	if (r < 0)
		return error_set(err, r,
				 "-F %s: HZ is a number above 0, at most %.0f: "
				 "how many times a second to look at the stack "
				 "of each thread",
				 argument, highest_hz);
	return options->stacks ? 0 : set_stacks(cli, NULL, err);
}

static int set_output(struct cli *cli, const char *argument, struct error *err)
{
	if (cli->output)
		return error_set(err, -EINVAL,
				 "-o is given twice: there is one log");
	if (!strcmp(argument, "-"))
		return error_set(
			err, -EINVAL,
			"-o -: leave -o out to have the log on "
			"standard output (./- is a file of that name)");
	return value_output(argument, &cli->output, err);
}

/* "a, b or c", of all that runtime_name() knows. */
static void list_runtimes(char *text, size_t size)
{
	const char *name, *next = runtime_name(1);
	size_t length = 0;

	for (size_t i = 0; (name = runtime_name(i)); i++) {
		next = next ? runtime_name(i + 1) : NULL;
		length += (size_t)snprintf(text + length, size - length, "%s%s",
					   !i	  ? ""
					   : next ? ", "
						  : " or ",
					   name);
		if (length >= size)
			return;
	}
}

static int set_runtime(struct cli *cli, const char *argument, struct error *err)
{
	unsigned *chosen = &cli->options.runtimes, none = runtime_bit("none");
	unsigned bit = runtime_bit(argument);
	char names[128];

	if (!bit) {
		list_runtimes(names, sizeof(names));
		return error_set(err, -EINVAL,
				 "--runtime %s: the runtimes are %s", argument,
				 names);
	}
	if (*chosen && (*chosen == none) != (bit == none))
		return error_set(err, -EINVAL,
				 "--runtime none excludes the others: give it "
				 "alone or not at all");
	*chosen |= bit;
	return 0;
}

static int set_max_events(struct cli *cli, const char *argument,
			  struct error *err)
{
	int r;

	r = value_count(argument, 1, UINT64_MAX, &cli->options.max_events);
	if (r < 0)
		return error_set(err, r,
				 "--max-events %s: the number of events is a "
				 "whole number above 0",
				 argument);
	return 0;
}

static int set_duration(struct cli *cli, const char *argument,
			struct error *err)
{
	int r;

	r = value_duration(argument, &cli->options.duration);
	if (r < 0)
		return error_set(err, r,
				 "--duration %s: the time is a number above 0, "
				 "in seconds or with ms, s, m or h, as in 1.5, "
				 "200ms or 2h",
				 argument);
	return 0;
}

static int set_pid(struct cli *cli, const char *argument, struct error *err)
{
	uint64_t pid;
	int r;

	if (!*argument)
		return error_set(err, -EINVAL,
				 "-p: the number of the process is empty: "
				 "pgrep NAME prints that of a program that "
				 "runs");
	r = value_count(argument, 1, INT_MAX, &pid);
	if (r < 0)
		return error_set(err, r,
				 "-p %s: a process is named by its number, as "
				 "pgrep prints it",
				 argument);
	if (cli->pid && cli->pid != (pid_t)pid)
		return error_set(err, -EINVAL,
				 "-p is given for two processes, %d and %d: "
				 "this version traces one at a time, so run "
				 "one clsattach for each",
				 cli->pid, (pid_t)pid);
	cli->pid = (pid_t)pid;
	return 0;
}

static int set_follow(struct cli *cli, const char *argument, struct error *err)
{
	enum follow *follow = &cli->options.follow;

	if (*follow == FOLLOW_LOG_EACH)
		return error_set(err, -EINVAL,
				 "-f is given too often: -f follows children, "
				 "-ff with a log for each process");
	*follow = *follow ? FOLLOW_LOG_EACH : FOLLOW_ONE_LOG;
	return 0;
}

static int set_survive(struct cli *cli, const char *argument, struct error *err)
{
	cli->options.survive = true;
	cli->options.exit_kill = false;
	return 0;
}

static int set_kill(struct cli *cli, const char *argument, struct error *err)
{
	cli->options.survive = false;
	cli->options.exit_kill = true;
	return 0;
}

static int set_list(struct cli *cli, const char *argument, struct error *err)
{
	cli->options.list = true;
	return 0;
}

static int set_births(struct cli *cli, const char *argument, struct error *err)
{
	cli->options.births_exact = !strcmp(argument, "exact");
	if (cli->options.births_exact || !strcmp(argument, "scan"))
		return 0;
	return error_set(err, -EINVAL, "--births=%s: scan or exact", argument);
}

static int set_quiet(struct cli *cli, const char *argument, struct error *err)
{
	cli->options.verbose--;
	return 0;
}

static int set_verbose(struct cli *cli, const char *argument, struct error *err)
{
	cli->options.verbose++;
	return 0;
}

static int set_help(struct cli *cli, const char *argument, struct error *err)
{
	cli->show = CLI_HELP;
	return 0;
}

static int set_version(struct cli *cli, const char *argument, struct error *err)
{
	cli->show = CLI_VERSION;
	return 0;
}

#define BOTH (CLI_RUN | CLI_ATTACH)

const struct choice choices[] = {
	{ NULL, 'p', required_argument, CLI_ATTACH, " PID",
	  "the process to trace", set_pid },
	{ NULL, 'w', required_argument, BOTH, " SPEC",
	  "watch this memory (repeatable)", set_watch },
	{ "on", 0, required_argument, BOTH, " KIND",
	  "report accesses of this kind: read, write or all", set_on },
	{ "every", 0, no_argument, BOTH, "",
	  "report every access (default with a symbol or address)", set_every },
	{ "no-run-ahead", 0, no_argument, BOTH, "",
	  "with --every, one stop for each access", set_no_run_ahead },
	{ "no-syscalls", 0, no_argument, BOTH, "",
	  "leave out what system calls touch", set_no_syscalls },
	{ "first", 0, no_argument, BOTH, "",
	  "report the first access of each page, then open it", set_first },
	{ "sample", 0, optional_argument, BOTH, "[=HZ]",
	  "as --first, again HZ times a second (default otherwise)",
	  set_sample },
	{ "stacks", 'k', optional_argument, BOTH, "[=KIND]",
	  "call stacks: inline, id (default in a file) or none", set_stacks },
	{ "depth", 0, required_argument, BOTH, " N",
	  "frames of a stack at most (default 64)", set_depth },
	{ NULL, 'F', required_argument, BOTH, " HZ",
	  "stacks of all threads, HZ times a second; alone: only",
	  set_stack_hz },
	{ "verify-stacks", 0, no_argument, BOTH, "", NULL, set_verify_stacks },
	{ "list", 0, no_argument, CLI_ATTACH, "",
	  "print all objects there are, by class, and let it go", set_list },
	{ "births", 0, required_argument, BOTH, "=HOW",
	  "find new objects of a class by scan or exact", set_births },
	{ "runtime", 0, required_argument, BOTH, " NAME",
	  "tell classes of this runtime only (repeatable) or none",
	  set_runtime },
	{ NULL, 'o', required_argument, BOTH, " FILE",
	  "write the log there, not to standard output", set_output },
	{ NULL, 'f', no_argument, BOTH, "",
	  "follow children; -ff: with a log for each process", set_follow },
	{ "max-events", 0, required_argument, BOTH, " N",
	  "stop tracing after N events", set_max_events },
	{ "duration", 0, required_argument, BOTH, " T",
	  "stop tracing after T: seconds, or with ms, s, m, h", set_duration },
	{ "survive", 0, no_argument, BOTH, "",
	  "let it live if the tracer is killed (no run-ahead)", set_survive },
	{ "kill-on-exit", 0, no_argument, CLI_ATTACH, "",
	  "kill the process if we are killed", set_kill },
	{ NULL, 'q', no_argument, BOTH, "", "say less on standard error",
	  set_quiet },
	{ NULL, 'v', no_argument, BOTH, "", "say more", set_verbose },
	{ "help", 0, no_argument, BOTH, "", "print this and exit", set_help },
	{ "version", 0, no_argument, BOTH, "", "print the version and exit",
	  set_version },
};

_Static_assert(ARRAY_SIZE(choices) == NCHOICES, "the header counts them");
_Static_assert(CLI_DEPTH == 64, "--help tells the default");
