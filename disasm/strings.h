/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * strings - runs of elements that a string instruction goes over
 *
 * Each function does @n elements at the present place, none or all of them
 * (fewer if it compares), notes them in the effects, and returns how many or
 * -errno.  Moving rsi and rdi on is the caller's.
 */

#include "disasm/perform.h"

/* One operand of a run: elements at addr, addr + step, ... */
struct side {
	uint64_t offset; /* rsi or rdi */
	uint64_t base;	 /* of the segment */
	struct effect *effect;
};

struct string {
	const struct insn *insn;
	struct user_regs_struct *regs;
	const struct memory *memory;
	uint8_t *buffer; /* RUN_MAX for each side */
	uint64_t mask;	 /* of addresses and of rcx */
	uint64_t size;	 /* of an element */
	bool down;
	struct side source, target;
};

int64_t string_movs(struct string *string, uint64_t n);
int64_t string_cmps(struct string *string, uint64_t n);
int64_t string_stos(struct string *string, uint64_t n);
int64_t string_lods(struct string *string, uint64_t n);
int64_t string_scas(struct string *string, uint64_t n);

/* How the comparison that was just made bears on going on. */
bool string_goes_on(const struct string *string);
