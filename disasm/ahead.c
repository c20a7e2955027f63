/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "disasm/ahead.h"
#include "disasm/ahead_parts.h"
#include "disasm/registers.h"

enum {
	JOINED = 16, /* instructions of a block at most */
	CODE_BYTES = JOINED * INSN_BYTES,
};

/* What stands at an address. */
struct entry {
	uint64_t ip;
	uint64_t generation; /* 0: nothing */
	uint8_t kind;	     /* enum ahead_kind */
	uint8_t count;	     /* instructions of the block */
	uint8_t length;	     /* their bytes */
	struct native_use use;
	struct insn insn;	   /* the first */
	uint8_t raw[NATIVE_BLOCK]; /* of a block, as it stands there */
};

struct ahead {
	struct execute *execute;
	struct native *native;
	uint64_t generation;
	struct entry entry[NATIVE_BLOCKS];
};

struct run {
	struct ahead *ahead;
	struct cpu *cpu;
	const struct ahead_host *host;
	struct memory memory;
	struct ahead_result *result;
	bool loaded; /* cpu->xstate is there */

	/* Of the search for a loop that only waits (Brent, 1980). */
	struct user_regs_struct seen;
	unsigned jumps, power;
};

int ahead_new(struct execute *execute, struct ahead **ret)
{
	struct ahead *ahead = calloc(1, sizeof(*ahead));

	if (!ahead)
		return -ENOMEM;
	ahead->execute = execute;
	ahead->native = execute_native(execute);
	ahead->generation = 1;
	*ret = ahead;
	return 0;
}

void ahead_free(struct ahead *ahead)
{
	free(ahead);
}

void ahead_forget(struct ahead *ahead)
{
	ahead->generation++;
}

static enum ahead_kind kind_of(const struct insn *insn)
{
	struct ahead_code code;

	switch (insn->kind) {
	case INSN_NONE:
		if (ahead_is_branch(insn))
			return AHEAD_BRANCH;
		return ahead_code(insn, &code) ? AHEAD_REGISTERS : AHEAD_HALT;
	case INSN_NATIVE:
	case INSN_STRING:
	case INSN_STACK:
	case INSN_GATHER:
		return AHEAD_MEMORY;
	case INSN_STEP:
	default:
		return AHEAD_HALT;
	}
}

/* May @code be joined with a block that has @use? */
static bool joins(const struct entry *entry, const struct ahead_code *code,
		  size_t size)
{
	return entry->count < JOINED && size <= NATIVE_BLOCK &&
	       !code->use.stand_in && !entry->use.stand_in;
}

/*
 * All instructions of registers only from the first one of @entry on, as long
 * as they fit.
 */
static void build(struct ahead *ahead, struct entry *entry,
		  const uint8_t *bytes, size_t size)
{
	uint8_t block[NATIVE_BLOCK + INSN_BYTES];
	struct insn insn = entry->insn;
	struct ahead_code code;
	size_t used = 0;

	entry->use = (struct native_use){ .legacy = true };
	while (ahead_code(&insn, &code)) {
		if (used && !joins(entry, &code, used + insn.length))
			break;
		memcpy(block + used, code.bytes, insn.length);
		used += insn.length;
		entry->count++;
		entry->use.stand_in = code.use.stand_in;
		entry->use.vector |= code.use.vector;
		entry->use.legacy &= !code.use.vector || code.use.legacy;
		if (insn_decode(bytes + used, size - used, &insn) < 0)
			break;
	}
	entry->length = used;
	memcpy(entry->raw, bytes, used);
	native_block(ahead->native, entry - ahead->entry, block, used);
}

/* After ahead_forget() most code is still what it was. */
static bool is_as_before(const struct entry *entry, const uint8_t *bytes,
			 size_t size)
{
	if (entry->kind == AHEAD_REGISTERS)
		return entry->length <= size &&
		       !memcmp(entry->raw, bytes, entry->length);
	return entry->kind != AHEAD_HALT && entry->insn.length <= size &&
	       !memcmp(entry->insn.bytes, bytes, entry->insn.length);
}

static struct entry *look_up(struct run *run, uint64_t ip)
{
	struct ahead *ahead = run->ahead;
	struct entry *entry =
		&ahead->entry[ip * UINT64_C(0x9e3779b97f4a7c15) >> 50];
	uint8_t bytes[CODE_BYTES];
	size_t size;

	if (entry->ip == ip && entry->generation == ahead->generation)
		return entry;
	size = run->host->code(run->host->context, ip, bytes, sizeof(bytes));
	if (entry->ip == ip && is_as_before(entry, bytes, size)) {
		entry->generation = ahead->generation;
		return entry;
	}
	*entry = (struct entry){ .ip = ip, .kind = AHEAD_HALT };
	if (!size)
		return entry;
	entry->generation = ahead->generation;
	if (insn_decode(bytes, size, &entry->insn) < 0)
		return entry;
	entry->kind = kind_of(&entry->insn);
	if (entry->kind == AHEAD_REGISTERS)
		build(ahead, entry, bytes, size);
	return entry;
}

static bool have_vector(struct run *run)
{
	if (!run->loaded)
		run->loaded =
			run->host->vector(run->host->context, run->cpu) == 0;
	return run->loaded;
}

static enum ahead_answer run_registers(struct run *run,
				       const struct entry *entry)
{
	struct ahead *ahead = run->ahead;

	if (entry->use.vector && !have_vector(run))
		return AHEAD_STOP;
	if (native_run_block(ahead->native, entry - ahead->entry, &entry->use,
			     run->cpu) != EXECUTE_DONE)
		return AHEAD_STOP;
	run->result->vector |= entry->use.vector;
	run->cpu->regs.rip += entry->length;
	run->cpu->regs.eflags &= ~(uint64_t)FLAG_RF;
	run->result->insns += entry->count;
	return AHEAD_ON;
}

/*
 * Only whole: a run that leaves the windows would be told in other pieces
 * than by the processor, which stops at the first page that is closed.
 */
static bool string_fits(struct run *run, const struct insn *insn)
{
	struct access access[ACCESS_MAX];
	unsigned n = access_of(insn, &run->cpu->regs, access);

	for (unsigned i = 0; i < n; i++)
		if (!window_allows(
			    run->host->windows, access[i].addr, access[i].size,
			    (access[i].op & ACCESS_READ ? WINDOW_READ : 0) |
				    (access[i].op & ACCESS_WRITE ? WINDOW_WRITE
								 : 0)))
			return false;
	return true;
}

/* xchg locks without being told to. */
static bool is_locked(const struct insn *insn)
{
	return insn->lock || (insn->encoding == INSN_LEGACY && insn->map == 0 &&
			      (insn->opcode & 0xfe) == 0x86);
}

static enum ahead_answer run_memory(struct run *run, const struct insn *insn)
{
	struct windows *windows = run->host->windows;
	struct user_regs_struct before = run->cpu->regs;
	struct effect effects[ACCESS_MAX];
	struct ahead_access access = { insn, &before, effects, 0 };

	if (insn->vector_in && !have_vector(run))
		return AHEAD_STOP;
	windows->watched_only = is_locked(insn);
	windows->watched = windows->written = false;
	if (insn->kind == INSN_STRING && insn->repeat &&
	    !string_fits(run, insn))
		return AHEAD_STOP;
	if (execute_run(run->ahead->execute, insn, run->cpu, &run->memory,
			effects, &access.count) != EXECUTE_DONE)
		return AHEAD_STOP;
	run->result->vector |= insn->vector_out;
	run->result->insns++;
	if (windows->written)
		run->jumps = 0;
	if (!windows->watched)
		return AHEAD_ON;
	run->result->accesses++;
	return run->host->access(run->host->context, &access);
}

/*
 * A backward jump with the registers of an earlier one, and nothing stored
 * since: it waits for somebody else, who must be let run.
 */
static bool waits(struct run *run)
{
	if (run->jumps &&
	    memcmp(&run->seen, &run->cpu->regs, sizeof(run->seen)) == 0)
		return true;
	if (run->jumps == 0)
		run->power = 1;
	if (run->jumps++ >= run->power || run->jumps == 1) {
		run->power = run->jumps * 2;
		run->seen = run->cpu->regs;
	}
	return false;
}

static enum ahead_answer run_branch(struct run *run, const struct insn *insn)
{
	uint64_t ip = run->cpu->regs.rip;

	if (ahead_branch(insn, &run->cpu->regs) != EXECUTE_DONE)
		return AHEAD_STOP;
	run->result->insns++;
	if (run->cpu->regs.rip <= ip && waits(run))
		return AHEAD_STOP;
	return AHEAD_ON;
}

static enum ahead_answer run_one(struct run *run)
{
	const struct entry *entry = look_up(run, run->cpu->regs.rip);

	switch ((enum ahead_kind)entry->kind) {
	case AHEAD_REGISTERS:
		return run_registers(run, entry);
	case AHEAD_BRANCH:
		return run_branch(run, &entry->insn);
	case AHEAD_MEMORY:
		return run_memory(run, &entry->insn);
	case AHEAD_HALT:
	default:
		return AHEAD_STOP;
	}
}

void ahead_run(struct ahead *ahead, struct cpu *cpu,
	       const struct ahead_host *host, uint64_t budget,
	       struct ahead_result *ret)
{
	struct run run = {
		.ahead = ahead,
		.cpu = cpu,
		.host = host,
		.memory = window_memory(host->windows),
		.result = ret,
		.loaded = cpu->xstate_size > 0,
	};

	*ret = (struct ahead_result){ 0 };
	/* It would trap after each instruction. */
	if (cpu->regs.eflags & FLAG_TF)
		return;
	while (ret->insns < budget && run_one(&run) == AHEAD_ON)
		;
}
