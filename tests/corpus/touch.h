/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * touch - where an instruction touches memory, and how, by page rights
 *
 * A read-only window tells what writes; an operand right at an end of the
 * window, and one byte further, tells its size; other bytes below an operand
 * that is only written may change nothing.
 */

#include "tests/unit/scene.h"

struct touch {
	unsigned checks;
	bool updated; /* something is said to be read and written */
	bool depends; /* and what was there made a difference */
	char text[256];
};

/*
 * After a scene_run in which the processor raised no signal: does what
 * execute (or, if it is stepped, access_of) says agree with the processor?
 * Counts in @touch; false: touch->text says what does not agree.
 */
bool touch_agrees(struct touch *touch, struct scene *scene);
