/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cli - the command line, into struct options
 *
 * What clsrun and clsattach share.  One table holds every option: it parses,
 * and it prints --help.  cli_parse() is pure; only cli_begin() and the
 * functions after it print, and nothing here traces.
 */

#include <sys/types.h>

#include "base/error.h"
#include "tracer/tracer.h"

/* Frames of a stack where --depth does not tell. */
enum { CLI_DEPTH = 64 };

enum cli_command {
	CLI_RUN = 1,
	CLI_ATTACH = 2,
};

enum cli_answer {
	CLI_HELP = 1, /* --help was asked for */
	CLI_VERSION,
};

struct cli {
	enum cli_command command;
	struct options options; /* its strings live as long as this */
	pid_t pid;		/* clsattach: the target; 0: not given */
	char **program;		/* clsrun: its argv, in the caller's argv */

	const char **watches; /* what options.watches points to */
	char *output;	      /* what options.output points to */
	enum cli_answer show; /* 0: nothing */
};

/*
 * Fill @cli from the command line.  0, an enum cli_answer, or -errno with the
 * sentence.  cli_done() releases it in each case.
 */
int cli_parse(struct cli *cli, enum cli_command command, int argc, char **argv,
	      struct error *err) _must_check_;
void cli_done(struct cli *cli);

/* "clsrun" or "clsattach", whatever the file was called. */
const char *cli_name(enum cli_command command);

/* The text of --help; at most 24 lines of 80 columns. */
void cli_help(enum cli_command command, FILE *out);

/*
 * Take descriptors 0, 1 and 2 if they are closed.  Else the tracer's own
 * files would get these numbers, and whoever prints to standard error would
 * write into the target's memory.  They close again at exec, so that the
 * program finds them as it would have.  -errno with the sentence where the
 * log was to go to a standard output that is closed.
 */
int cli_streams(const struct cli *cli, struct error *err) _must_check_;

/* All of the above, printing what is to be said: -1 to go on, else exit. */
int cli_begin(struct cli *cli, enum cli_command command, int argc, char **argv);

/* A watch that never found anything is likely a slip of its name. */
void cli_say_unmatched(const struct cli *cli, const struct outcome *outcome);

/* One line on standard error; control characters do not reach it. */
void cli_say(const struct cli *cli, const char *format, ...) _printf_(2, 3);
