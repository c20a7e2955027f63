/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * component_target - a program that prints what a resolver must say of it
 */

#include "tracer/component/component.h"

struct target {
	pid_t pid;
	FILE *output; /* of the program, for us to read */
	int input;
	int mem;
	struct maps *maps;
	struct symbols *symbols;
	struct world world;
};

/* What the program says of one address; see tests/targets/component_zoo.cc. */
struct claim {
	char kind[32], name[256];
	uint64_t addr, base, start;
	int confidence;
	char member[128]; /* a seventh field, or "" */
};

/* Runs it until it has said all.  How many claims there are, or -errno. */
int target_start(struct target *target, const char *path, struct claim *claim,
		 int max);
void target_stop(struct target *target);
