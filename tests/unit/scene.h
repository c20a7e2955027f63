/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * scene - one try of an instruction: registers, vector state and a window of
 * memory, all at random, run by execute and by the processor and compared
 */

#include "disasm/xstate.h"
#include "tests/unit/oracle.h"
#include "tests/unit/rowbytes.h"

struct scene {
	struct random random;
	struct oracle oracle;
	struct execute *execute;
	struct xstate machine;

	struct insn insn;
	struct cpu start; /* before */
	struct cpu cpu;	  /* as execute left it */
	struct cpu real;  /* as the processor left it */
	uint8_t before[ORACLE_SIZE], window[ORACLE_SIZE], truth[ORACLE_SIZE];
	struct effect effects[ACCESS_MAX];
	unsigned count;

	bool begun;	 /* a run was done in part before its result */
	int result;	 /* of execute_run */
	int signal;	 /* of the processor */
	char text[4096]; /* what differs */
};

/* 0, or -errno: no ptrace here. */
int scene_new(struct scene *scene, uint64_t seed);
void scene_done(struct scene *scene);

/* The window as struct memory; nothing else can be read or written. */
struct memory scene_memory(struct scene *scene);

/* Random state; general registers are small, large or addresses. */
void scene_state(struct scene *scene);

/* Run both until the instruction is over. */
void scene_run(struct scene *scene);

/* True if both agree; else scene->text says where they do not. */
bool scene_agrees(struct scene *scene);
