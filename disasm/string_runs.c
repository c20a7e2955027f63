/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "disasm/registers.h"
#include "disasm/strings.h"

/* The lowest address of the next @n elements. */
static uint64_t lowest(const struct string *string, const struct side *side,
		       uint64_t n)
{
	uint64_t back = string->down ? (n - 1) * string->size : 0;

	return side->base + side->offset - back;
}

/* @old and @new are of the bytes at the lowest address of the @n elements. */
static void note(const struct string *string, struct side *side, uint64_t n,
		 uint8_t op, const uint8_t *old, const uint8_t *new)
{
	struct effect *effect = side->effect, before = *effect;
	uint64_t size = n * string->size;
	uint32_t kept;

	if (before.access.count == 0 || string->down)
		effect_set(effect, lowest(string, side, n), size, op, old, new);
	effect->access.count = before.access.count + n;
	effect->access.size = before.access.size + size;
	if (before.access.count == 0)
		return;
	/* Upwards the new part comes after what is shown, else before it. */
	kept = string->down ? effect->shown : before.shown;
	size = min_u64(string->down ? before.shown : size, EFFECT_SHOWN - kept);
	memcpy(effect->old + kept, string->down ? before.old : old, size);
	memcpy(effect->new + kept, string->down ? before.new : new, size);
	effect->shown = kept + size;
}

/* The place of element @i, in the order of doing, among @n. */
static uint64_t place(const struct string *string, uint64_t i, uint64_t n)
{
	return (string->down ? n - 1 - i : i) * string->size;
}

int64_t string_stos(struct string *string, uint64_t n)
{
	uint64_t addr = lowest(string, &string->target, n);
	uint64_t value = string->regs->rax, size = n * string->size;
	uint8_t old[EFFECT_SHOWN];
	int r = memory_read(string->memory, addr, old,
			    min_u64(size, sizeof(old)));

	if (r < 0)
		return r;
	for (uint64_t i = 0; i < n; i++)
		memcpy(string->buffer + i * string->size, &value, string->size);
	r = memory_write(string->memory, addr, string->buffer, size);
	if (r < 0)
		return r;
	note(string, &string->target, n, ACCESS_WRITE, old, string->buffer);
	return n;
}

int64_t string_lods(struct string *string, uint64_t n)
{
	uint64_t addr = lowest(string, &string->source, n), value = 0;
	uint64_t rax = string->regs->rax;
	int r = memory_read(string->memory, addr, string->buffer,
			    n * string->size);

	if (r < 0)
		return r;
	memcpy(&value, string->buffer + place(string, n - 1, n), string->size);
	/* Four bytes clear the upper half, one and two leave the rest. */
	if (string->size < 4)
		value |= rax & ~((UINT64_C(1) << (8 * string->size)) - 1);
	string->regs->rax = value;
	note(string, &string->source, n, ACCESS_READ, string->buffer,
	     string->buffer);
	return n;
}

/*
 * Source and target overlap: what is stored may be loaded again.  Both lie in
 * one stretch of memory, on which the elements are moved one by one.
 */
static int64_t move_overlapping(struct string *string, uint64_t from,
				uint64_t to, uint64_t n)
{
	uint64_t size = n * string->size, start = min_u64(from, to);
	uint8_t old_to[EFFECT_SHOWN];
	uint8_t *source = string->buffer + (from - start);
	uint8_t *target = string->buffer + (to - start);
	uint64_t shown = min_u64(size, EFFECT_SHOWN), element;
	int r = memory_read(string->memory, start, string->buffer,
			    max_u64(from, to) + size - start);

	if (r < 0)
		return r;
	memcpy(old_to, target, shown);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = place(string, i, n);

		memcpy(&element, source + at, string->size);
		memcpy(target + at, &element, string->size);
	}
	r = memory_write(string->memory, to, target, size);
	if (r < 0)
		return r;
	/* What was loaded is what has been stored. */
	note(string, &string->source, n, ACCESS_READ, target, target);
	note(string, &string->target, n, ACCESS_WRITE, old_to, target);
	return n;
}

int64_t string_movs(struct string *string, uint64_t n)
{
	uint64_t from = lowest(string, &string->source, n);
	uint64_t to = lowest(string, &string->target, n);
	uint64_t size = n * string->size;
	uint8_t old[EFFECT_SHOWN];
	int r;

	if (max_u64(from, to) - min_u64(from, to) < size)
		return move_overlapping(string, from, to, n);
	r = memory_read(string->memory, from, string->buffer, size);
	if (r == 0)
		r = memory_read(string->memory, to, old,
				min_u64(size, sizeof(old)));
	if (r == 0)
		r = memory_write(string->memory, to, string->buffer, size);
	if (r < 0)
		return r;
	note(string, &string->source, n, ACCESS_READ, string->buffer,
	     string->buffer);
	note(string, &string->target, n, ACCESS_WRITE, old, string->buffer);
	return n;
}

/* The flags of a - b. */
static void compare(struct user_regs_struct *regs, uint64_t a, uint64_t b,
		    uint64_t size)
{
	unsigned top = 8 * size - 1;
	uint64_t mask = UINT64_MAX >> (63 - top), flags = 0;
	uint64_t d = (a - b) & mask;

	if ((a & mask) < (b & mask))
		flags |= FLAG_CF;
	if (!(__builtin_popcount(d & 0xff) & 1))
		flags |= FLAG_PF;
	if ((a ^ b ^ d) & 0x10)
		flags |= FLAG_AF;
	if (d == 0)
		flags |= FLAG_ZF;
	if (d >> top & 1)
		flags |= FLAG_SF;
	if (((a ^ b) & (a ^ d)) >> top & 1)
		flags |= FLAG_OF;
	regs->eflags = (regs->eflags & ~(uint64_t)FLAGS_STATUS) | flags;
}

bool string_goes_on(const struct string *string)
{
	bool equal = string->regs->eflags & FLAG_ZF;

	return string->insn->repeat == 0xf3 ? equal : !equal;
}

/*
 * Compare up to @n elements, @a with @b or, without @a, with rax; until one
 * ends the run.  Returns how many were compared.
 */
static uint64_t compare_run(struct string *string, const uint8_t *a,
			    const uint8_t *b, uint64_t n)
{
	uint64_t x = string->regs->rax, y = 0, i = 0;

	do {
		uint64_t at = place(string, i, n);

		if (a) {
			x = 0;
			memcpy(&x, a + at, string->size);
		}
		memcpy(&y, b + at, string->size);
		compare(string->regs, x, y, string->size);
	} while (++i < n && string_goes_on(string));
	return i;
}

int64_t string_cmps(struct string *string, uint64_t n)
{
	uint8_t *a = string->buffer, *b = string->buffer + RUN_MAX;
	uint64_t size = n * string->size, done, skip;
	int r = memory_read(string->memory, lowest(string, &string->source, n),
			    a, size);

	if (r == 0)
		r = memory_read(string->memory,
				lowest(string, &string->target, n), b, size);
	if (r < 0)
		return r;
	done = compare_run(string, a, b, n);
	skip = string->down ? (n - done) * string->size : 0;
	note(string, &string->source, done, ACCESS_READ, a + skip, a + skip);
	note(string, &string->target, done, ACCESS_READ, b + skip, b + skip);
	return done;
}

int64_t string_scas(struct string *string, uint64_t n)
{
	uint8_t *b = string->buffer;
	uint64_t done, skip;
	int r = memory_read(string->memory, lowest(string, &string->target, n),
			    b, n * string->size);

	if (r < 0)
		return r;
	done = compare_run(string, NULL, b, n);
	skip = string->down ? (n - done) * string->size : 0;
	note(string, &string->target, done, ACCESS_READ, b + skip, b + skip);
	return done;
}
