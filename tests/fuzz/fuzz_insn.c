/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an instruction, with any registers: it is decoded the same
 * however much follows it, and performing it changes nothing but what it says.
 *
 * Input: length of the code (a byte), the code, what memory does (see struct
 * world), flags, 18 registers (the last two are the segments' bases).
 */
#include <errno.h>

#include "disasm/registers.h"
#include "disasm/xstate.h"
#include "tests/fuzz/allowed.h"
#include "tests/fuzz/fuzz.h"

enum { MEMORY = 1 << 19, WRITES = 256, CODE_SIZE = 4096 };

/* Memory that repeats itself; one page may be missing, one access may fail. */
struct world {
	uint8_t bytes[MEMORY];
	uint8_t hole; /* 0: none */
	uint8_t fail; /* which access, 0: none */
	bool failed;  /* there was a hole */
	bool dead;    /* and then it failed again */
	unsigned accesses;
	struct {
		uint64_t addr, size;
	} write[WRITES];
	unsigned writes;
	uint64_t written;
	uint64_t touched; /* bytes, over all accesses */
};

static struct world world;
static uint8_t pristine[MEMORY];

static int world_touch(struct world *w, uint64_t addr, size_t size)
{
	expect(size > 0 && size <= MEMORY / 2);
	w->accesses++;
	if (w->accesses == w->fail) {
		w->dead = w->failed;
		return -ESRCH;
	}
	/* Longer runs teach nothing and take all the time. */
	w->touched += size;
	if (w->touched > 2 * MEMORY) {
		w->failed = true;
		return -EFAULT;
	}
	for (size_t i = 0; w->hole && i < size; i += PAGE - (addr + i) % PAGE)
		if ((addr + i) % MEMORY / PAGE == w->hole % (MEMORY / PAGE)) {
			w->failed = true;
			return -EFAULT;
		}
	return 0;
}

static int world_read(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct world *w = context;
	size_t n = min_u64(size, MEMORY - addr % MEMORY);
	int r = world_touch(w, addr, size);

	if (r < 0)
		return r;
	memcpy(buffer, w->bytes + addr % MEMORY, n);
	memcpy((uint8_t *)buffer + n, w->bytes, size - n);
	return 0;
}

static int world_write(void *context, uint64_t addr, const void *buffer,
		       size_t size)
{
	struct world *w = context;
	size_t n = min_u64(size, MEMORY - addr % MEMORY);
	int r = world_touch(w, addr, size);

	if (r < 0)
		return r;
	memcpy(w->bytes + addr % MEMORY, buffer, n);
	memcpy(w->bytes, (const uint8_t *)buffer + n, size - n);
	expect(w->writes < WRITES);
	w->write[w->writes].addr = addr;
	w->write[w->writes++].size = size;
	w->written += size;
	return 0;
}

/* Did the bytes change from what they were? */
static bool world_changed(const struct world *w)
{
	for (unsigned i = 0; i < w->writes; i++) {
		uint64_t at = w->write[i].addr % MEMORY;
		uint64_t size = w->write[i].size;
		uint64_t n = min_u64(size, MEMORY - at);

		if (memcmp(w->bytes + at, pristine + at, n) ||
		    memcmp(w->bytes, pristine, size - n))
			return true;
	}
	return false;
}

static void world_reset(struct world *w, struct input *input)
{
	for (unsigned i = 0; i < w->writes; i++) {
		uint64_t at = w->write[i].addr % MEMORY;
		uint64_t size = w->write[i].size;
		uint64_t n = min_u64(size, MEMORY - at);

		memcpy(w->bytes + at, pristine + at, n);
		memcpy(w->bytes, pristine, size - n);
	}
	w->hole = input_byte(input);
	w->fail = input_byte(input);
	w->accesses = w->writes = 0;
	w->touched = 0;
	w->failed = w->dead = false;
	w->written = 0;
}

/* State of ours that foreign code may not touch. */
struct own {
	uint32_t mxcsr;
	uint16_t control, tags;
	bool down;
};

static struct own own_state(void)
{
	struct own own;
	struct {
		uint16_t control, unused, status, unused2, tags, rest[9];
	} environment;

	/* fnstenv masks all exceptions, fldenv takes that back. */
	__asm__ volatile("stmxcsr %0; fnstenv %1; fldenv %1"
			 : "=m"(own.mxcsr), "+m"(environment));
	own.control = environment.control;
	own.tags = environment.tags;
	own.down = __builtin_ia32_readeflags_u64() & FLAG_DF;
	return own;
}

static void make_cpu(struct cpu *cpu, struct input *input)
{
	static _Alignas(64) uint8_t xstate[XSTATE_MAX];
	const struct xstate *machine = xstate_machine();
	uint64_t components = 7;

	cpu->regs = (struct user_regs_struct){ .rip = 0x400000 };
	cpu->regs.eflags = 2 | (input_byte(input) & 0xd5) |
			   (input_byte(input) & 0x0d) << 8;
	for (unsigned i = 0; i < REGISTERS; i++)
		register_set(&cpu->regs, i, input_word(input));
	/* Long runs of a rep take most of the time; a few are enough. */
	if ((cpu->regs.rcx >> 56) % 64 != 1)
		cpu->regs.rcx &= 0xff;
	cpu->regs.fs_base = input_word(input);
	cpu->regs.gs_base = input_word(input);

	memcpy(xstate, pristine, 2048);
	memset(xstate, 0, 32);
	memset(xstate + 416, 0, 160);
	memcpy(xstate, "\x7f\x03", 2);
	memcpy(xstate + 24, "\x80\x1f", 2);
	if (machine->component[5].size) {
		components |= 1 << 5;
		memcpy(xstate + machine->component[5].offset, &cpu->regs.rbx,
		       8);
		memcpy(xstate + machine->component[5].offset + 8,
		       &cpu->regs.rdx, 8);
	}
	memcpy(xstate + 512, &components, 8);
	cpu->xstate = xstate;
	cpu->xstate_size = 4096;
}

static void check_decoded(const uint8_t *code, size_t size,
			  const struct insn *insn)
{
	struct insn again;

	expect(insn->length >= 1 && insn->length <= size);
	expect(insn->length <= INSN_BYTES);
	expect(memcmp(insn->bytes, code, insn->length) == 0);
	expect(insn->op <= ACCESS_RW);
	expect(!insn->memory || insn->modrm >= 0 || insn->displacement >= 0);
	expect(insn_decode(code, insn->length, &again) == 0);
	expect(again.length == insn->length && again.kind == insn->kind &&
	       again.op == insn->op && again.size == insn->size);
	expect(insn_decode(code, insn->length - 1, &again) == -ENODATA);
}

/* What a store shows is what was and what is in memory. */
static void check_shown(const struct effect *effect)
{
	for (unsigned i = 0; i < effect->shown; i++) {
		uint64_t at = (effect->access.addr + i) % MEMORY;

		expect(effect->old[i] == pristine[at]);
		expect(effect->new[i] == world.bytes[at]);
	}
}

static void check_effects(const struct insn *insn, const struct effect *effects,
			  unsigned count)
{
	uint64_t stored = 0;

	expect(count <= ACCESS_MAX);
	for (unsigned i = 0; i < count; i++) {
		const struct access *access = &effects[i].access;

		expect(access->size && access->count);
		expect(access->op && access->op <= ACCESS_RW);
		expect(effects[i].shown <= EFFECT_SHOWN &&
		       effects[i].shown <= access->size);
		if (access->op & ACCESS_WRITE)
			stored += access->size;
		else
			expect(!memcmp(effects[i].old, effects[i].new,
				       effects[i].shown));
	}
	expect(world.written == stored);
	/*
	 * With 32-bit addresses a run can go around, as can one that is longer
	 * than the memory here; lanes of a scatter can fall on each other.
	 */
	for (unsigned i = 0; i < count && !insn->address32; i++)
		if (effects[i].access.op & ACCESS_WRITE &&
		    effects[i].access.size <= MEMORY &&
		    (insn->kind != INSN_GATHER || count == 1))
			check_shown(&effects[i]);
	expect(insn->kind != INSN_NONE && insn->kind != INSN_STEP);
}

static void perform(struct execute *execute, const struct insn *insn,
		    struct cpu *cpu)
{
	static uint8_t before[4096];
	struct memory memory = { &world, world_read, world_write };
	struct user_regs_struct regs = cpu->regs;
	struct effect effects[ACCESS_MAX];
	struct own own = own_state(), now;
	unsigned count = 99;
	int r;

	if (insn->kind == INSN_NATIVE)
		check_allowed(insn);
	memcpy(before, cpu->xstate, sizeof(before));
	r = execute_run(execute, insn, cpu, &memory, effects, &count);
	now = own_state();
	expect(own.mxcsr == now.mxcsr && own.control == now.control &&
	       own.tags == now.tags && !now.down);
	expect(r == EXECUTE_DONE || r == EXECUTE_STEP || r == -EFAULT ||
	       r == -ESRCH);
	if (r == EXECUTE_DONE) {
		check_effects(insn, effects, count);
		expect(insn->vector_out ||
		       !memcmp(before, cpu->xstate, sizeof(before)));
		return;
	}
	expect(count == 0);
	expect(!memcmp(&regs, &cpu->regs, sizeof(regs)));
	expect(!memcmp(before, cpu->xstate, sizeof(before)));
	/* What fails again while it is taken back cannot be. */
	expect(!world_changed(&world) || world.dead);
}

static struct execute *prepare(struct insn_names **names)
{
	struct execute *execute;

	expect(execute_new(&execute) == 0);
	expect(insn_names_new(names) == 0);
	for (unsigned i = 0; i < MEMORY; i++)
		pristine[i] = (i * 2654435761u) >> 13;
	memcpy(world.bytes, pristine, MEMORY);
	return execute;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Theirs until we end: the handlers are installed once. */
	static struct execute *execute;
	static struct insn_names *names;
	struct input input = { data, size };
	struct access access[ACCESS_MAX];
	uint8_t code[INSN_BYTES];
	const char *text;
	struct insn insn;
	struct cpu cpu;
	size_t n;
	int r;

	if (!execute)
		execute = prepare(&names);
	n = input_byte(&input) % (INSN_BYTES + 1);
	input_take(&input, code, n);
	r = insn_decode(code, n, &insn);
	expect(r == 0 || r == -EILSEQ || r == -ENODATA);
	if (r < 0)
		return 0;
	check_decoded(code, n, &insn);
	world_reset(&world, &input);
	make_cpu(&cpu, &input);
	expect(access_of(&insn, &cpu.regs, access) <= ACCESS_MAX);
	perform(execute, &insn, &cpu);
	text = insn_text(names, &insn, cpu.regs.rip);
	expect(strnlen(text, INSN_TEXT) < INSN_TEXT && text[0]);
	return 0;
}
