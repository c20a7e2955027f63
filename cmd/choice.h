/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * choice - the table of options
 *
 * One row an option: how it is written, what --help says of it, and what it
 * sets.  cli.c makes from it what getopt_long(3) wants; it is shown to nobody
 * else.
 */

#include "cmd/cli.h"

struct choice {
	const char *name;     /* long, NULL: only the letter */
	char letter;	      /* 0: only the name */
	int takes;	      /* no_argument ... of getopt_long(3) */
	unsigned commands;    /* enum cli_command bits */
	const char *argument; /* its name in --help, with what joins it */
	const char *help;     /* NULL: only the manual tells of it */

	/* 0, or -errno with the sentence; @argument NULL: none given. */
	int (*set)(struct cli *cli, const char *argument, struct error *err);
};

enum { NCHOICES = 25 };

/* In the order of --help. */
extern const struct choice choices[NCHOICES];
