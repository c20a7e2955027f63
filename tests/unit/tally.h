/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * tally - how many tries of instructions came out how
 *
 * For cmocka tests; the scene is one that a whole test program uses.
 */

#include "tests/unit/scene.h"

struct tally {
	unsigned tries, done, faults, declined, wrong;
};

/* Skips the test where ptrace is not allowed. */
void tally_begin(struct scene *scene, uint64_t seed);

/* After scene_run: count, and show what is wrong. */
void tally_judge(struct tally *tally, struct scene *scene);

/* End the scene; print, and assert that nothing was wrong. */
void tally_end(const struct tally *tally, struct scene *scene);

/* @usual, times CLS_TEST_TIMES. */
unsigned tally_times(unsigned usual);

/* CLS_TEST_SEED, else 1. */
uint64_t tally_seed(void);
