/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "disasm/registers.h"
#include "tests/corpus/touch.h"

/* Of what must be aligned; where it is in an XSAVE area. */
enum { ALIGNMENT = 64, FOP = 6, MXCSR = 24 };

#define START ORACLE_WINDOW
#define END   (ORACLE_WINDOW + ORACLE_SIZE)

/* What belongs to one operand, with the gaps that a mask leaves. */
struct operand {
	uint64_t start, end;
	uint8_t op;
};

struct trial {
	struct touch *touch;
	struct scene *scene;
	struct access access[ACCESS_MAX];
	unsigned count;
	struct operand operand[2];
	unsigned operands;
};

static bool fail(const struct trial *trial, const char *what, uint64_t where,
		 int signal)
{
	snprintf(trial->touch->text, sizeof(trial->touch->text),
		 "%s: operand at %#lx, signal %d at %#lx", what, where, signal,
		 trial->scene->oracle.fault);
	return false;
}

/* Step with other registers or bytes than the scene began with. */
static int step(struct trial *trial, const struct insn *insn,
		const struct user_regs_struct *regs, const uint8_t *window)
{
	struct scene *scene = trial->scene;
	struct cpu *cpu = &scene->real;

	cpu->regs = *regs;
	cpu->xstate_size = scene->start.xstate_size;
	memcpy(cpu->xstate, scene->start.xstate, cpu->xstate_size);
	memcpy(scene->truth, window, ORACLE_SIZE);
	trial->touch->checks++;
	return oracle_step(&scene->oracle, insn, cpu, scene->truth);
}

static void find_accesses(struct trial *trial)
{
	struct scene *scene = trial->scene;

	if (scene->result == EXECUTE_DONE) {
		trial->count = scene->count;
		for (unsigned i = 0; i < scene->count; i++)
			trial->access[i] = scene->effects[i].access;
		return;
	}
	trial->count =
		access_of(&scene->insn, &scene->start.regs, trial->access);
}

/* Parts of a masked operand are one; a string or a push [m] has two. */
static void find_operands(struct trial *trial)
{
	const struct insn *insn = &trial->scene->insn;
	bool alone = insn->kind == INSN_STRING || insn->kind == INSN_STACK;
	uint64_t addr = access_address(insn, &trial->scene->start.regs);
	struct operand *o = trial->operand;

	for (unsigned i = 0; i < trial->count; i++) {
		const struct access *a = &trial->access[i];

		if (i > 0 && (alone || a->op != o->op))
			o++;
		else if (i > 0) {
			o->start = min_u64(o->start, a->addr);
			o->end = max_u64(o->end, a->addr + a->size);
			continue;
		}
		*o = (struct operand){ a->addr, a->addr + a->size, a->op };
		trial->operands = o - trial->operand + 1;
	}
	/* A maskmov faults for bytes that its mask leaves out. */
	if (trial->count && insn->implied)
		*o = (struct operand){ addr, addr + insn->size, o->op };
}

/* Faults in a read-only window if, and where, it writes. */
static bool check_direction(struct trial *trial)
{
	struct scene *scene = trial->scene;
	bool told = false, at = false;
	/* Nothing is touched where nothing may be. */
	int signal = oracle_protect(&scene->oracle,
				    trial->count ? PROT_READ : PROT_NONE);

	if (signal == 0)
		signal = step(trial, &scene->insn, &scene->start.regs,
			      scene->before);
	for (unsigned i = 0; i < trial->operands; i++) {
		const struct operand *o = &trial->operand[i];

		if (!(o->op & ACCESS_WRITE))
			continue;
		told = true;
		at |= scene->oracle.fault - o->start < o->end - o->start;
	}
	if (oracle_protect(&scene->oracle, PROT_READ | PROT_WRITE) != 0)
		return fail(trial, "mprotect", 0, 0);
	if (told ? signal != SIGSEGV || !at : signal != 0)
		return fail(trial, told ? "no write" : "a write",
			    trial->operand[0].start, signal);
	return true;
}

/* Where operand @k begins with other registers, or another displacement. */
static uint64_t begins(const struct trial *trial, const struct insn *insn,
		       const struct user_regs_struct *regs, unsigned k)
{
	struct access access[ACCESS_MAX];

	if (insn->kind == INSN_GATHER)
		return register_get(regs, insn->base);
	if (insn->kind == INSN_NATIVE)
		return access_address(insn, regs);
	return access_of(insn, regs, access) > k ? access[k].addr : 0;
}

/* Move operand @k by @delta through whichever register does it. */
static bool move(const struct trial *trial, unsigned k, int64_t delta,
		 struct insn *insn, struct user_regs_struct *regs)
{
	const struct scene *scene = trial->scene;
	uint64_t from = begins(trial, insn, regs, k);
	uint8_t bytes[INSN_BYTES] = { 0 };
	int32_t displacement;

	for (unsigned i = 0; i < REGISTERS; i++) {
		register_set(regs, i, register_get(regs, i) + delta);
		if (begins(trial, insn, regs, k) == from + delta)
			return true;
		*regs = scene->start.regs;
	}
	if (insn->base >= 0 || insn->index >= 0 || insn->displacement < 0)
		return false;
	memcpy(bytes, insn->bytes, insn->length);
	memcpy(&displacement, bytes + insn->displacement, 4);
	displacement += delta;
	memcpy(bytes + insn->displacement, &displacement, 4);
	return insn_decode(bytes, insn->length, insn) == 0 &&
	       begins(trial, insn, regs, k) == from + delta;
}

/* push [rsp] has two operands that cannot be moved alone. */
static bool takes_along(const struct trial *trial, unsigned k,
			const struct insn *insn,
			const struct user_regs_struct *regs)
{
	unsigned other = 1 - k;

	return trial->operands == 2 &&
	       begins(trial, insn, regs, other) !=
		       begins(trial, &trial->scene->insn,
			      &trial->scene->start.regs, other);
}

/* The signal with operand @k moved by @delta; -1 if it cannot be moved. */
static int moved(struct trial *trial, unsigned k, int64_t delta)
{
	struct insn insn = trial->scene->insn;
	struct user_regs_struct regs = trial->scene->start.regs;

	if (!move(trial, k, delta, &insn, &regs) ||
	    takes_along(trial, k, &insn, &regs))
		return -1;
	return step(trial, &insn, &regs, trial->scene->before);
}

/* A signal in place of the page fault that says nothing about places. */
static bool mute(const struct trial *trial, int signal)
{
	return signal < 0 || (signal && !trial->scene->oracle.fault);
}

/*
 * Right at an end of the window all is well; @beyond it the page that is
 * not there faults, at @edge.  Operands that must be aligned go a line on.
 */
static bool check_edge(struct trial *trial, unsigned k, int64_t delta,
		       int beyond, uint64_t edge)
{
	const struct operand *o = &trial->operand[k];
	uint64_t fault;
	int signal = moved(trial, k, delta);

	if (signal > 0 && !mute(trial, signal))
		return fail(trial, "too large", o->start + delta, signal);
	signal = moved(trial, k, delta + beyond);
	fault = trial->scene->oracle.fault;
	if (signal == SIGSEGV && fault == edge)
		return true;
	if (mute(trial, signal)) {
		signal = moved(trial, k, delta + ALIGNMENT * beyond);
		fault = trial->scene->oracle.fault;
	}
	if (mute(trial, signal) ||
	    (signal == SIGSEGV && (fault < START || fault >= END)))
		return true;
	return fail(trial, "too small", o->start + delta + beyond, signal);
}

static bool check_sizes(struct trial *trial)
{
	const struct insn *insn = &trial->scene->insn;

	/* It also looks whether its new top could be written. */
	if (insn->kind == INSN_STACK && insn->opcode == 0xc8)
		return true;
	for (unsigned k = 0; k < trial->operands; k++) {
		const struct operand *o = &trial->operand[k];

		if (!check_edge(trial, k, END - o->end, 1, END) ||
		    !check_edge(trial, k, START - o->start, -1, START - 1))
			return false;
	}
	return true;
}

/* Without the x87's last instruction, which is kept only at exceptions. */
static bool same_cpu(const struct cpu *a, const struct cpu *b)
{
	return !memcmp(&a->regs, &b->regs, sizeof(a->regs)) &&
	       !memcmp(a->xstate, b->xstate, FOP) &&
	       !memcmp(a->xstate + MXCSR, b->xstate + MXCSR,
		       a->xstate_size - MXCSR);
}

/* One outcome, but for bytes that nothing has written. */
static bool same_memory(const uint8_t *a, const uint8_t *before_a,
			const uint8_t *b, const uint8_t *before_b)
{
	for (size_t i = 0; i < ORACLE_SIZE; i++)
		if (a[i] != b[i] &&
		    (a[i] != before_a[i] || b[i] != before_b[i]))
			return false;
	return true;
}

/* Other bytes below access @i: does the outcome differ?  -1: not to be told. */
static int differs(struct trial *trial, unsigned i)
{
	static uint8_t window[ORACLE_SIZE], first[ORACLE_SIZE];
	struct scene *scene = trial->scene;
	const struct access *a = &trial->access[i];

	if (a->addr < START || a->addr + a->size > END)
		return -1;
	memcpy(window, scene->before, ORACLE_SIZE);
	if (step(trial, &scene->insn, &scene->start.regs, window) != 0)
		return -1;
	memcpy(first, scene->truth, ORACLE_SIZE);
	scene->cpu.regs = scene->real.regs;
	scene->cpu.xstate_size = scene->real.xstate_size;
	memcpy(scene->cpu.xstate, scene->real.xstate, scene->real.xstate_size);
	for (uint64_t k = 0; k < a->size; k++)
		window[a->addr - START + k] ^= 0xff;
	if (step(trial, &scene->insn, &scene->start.regs, window) != 0)
		return -1;
	return !same_cpu(&scene->cpu, &scene->real) ||
	       !same_memory(first, scene->before, scene->truth, window);
}

/* What is only written does not matter before. */
static bool check_reads(struct trial *trial)
{
	for (unsigned i = 0; i < trial->count; i++) {
		const struct access *a = &trial->access[i];
		int r;

		if (!(a->op & ACCESS_WRITE))
			continue;
		/* The other operand of a string may be the same memory. */
		if (trial->scene->insn.kind == INSN_STRING && trial->count > 1)
			continue;
		r = differs(trial, i);
		if (a->op & ACCESS_READ) {
			trial->touch->updated = true;
			trial->touch->depends |= r > 0;
		} else if (r > 0) {
			return fail(trial, "reads what it writes", a->addr, 0);
		}
	}
	return true;
}

bool touch_agrees(struct touch *touch, struct scene *scene)
{
	struct trial trial = { .touch = touch, .scene = scene };

	find_accesses(&trial);
	find_operands(&trial);
	if (!check_direction(&trial) || !check_reads(&trial))
		return false;
	/* A run ends where the processor says; what it did was compared. */
	if (scene->insn.kind == INSN_STRING && scene->insn.repeat)
		return true;
	return check_sizes(&trial);
}
