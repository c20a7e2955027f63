/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * aim - registers with which the operands of an instruction lie in the window
 */

#include "tests/unit/scene.h"

/*
 * After scene_state: choose the registers that scene->insn uses for its
 * addresses, or patch the displacement of @bytes, so that its operands lie
 * somewhere in the window, mostly well inside; and put there what the
 * instruction can use.  False if it cannot be done.
 */
bool aim(struct scene *scene, uint8_t bytes[INSN_BYTES]);
