/* SPDX-License-Identifier: Apache-2.0 */
#include <cpuid.h>
#include <errno.h>
#include <string.h>

#include "disasm/registers.h"
#include "tests/unit/scene.h"

enum { X87 = 0, MXCSR = 24, ST = 32, XMM = 160, XMM_END = 416, HEADER = 512 };

int scene_new(struct scene *scene, uint64_t seed)
{
	int r;

	memset(scene, 0, sizeof(*scene));
	xstate_measure(&scene->machine);
	scene->random.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	r = oracle_new(&scene->oracle);
	if (r < 0)
		return r;
	scene->start.xstate = aligned_alloc(64, XSTATE_MAX);
	scene->cpu.xstate = aligned_alloc(64, XSTATE_MAX);
	scene->real.xstate = aligned_alloc(64, XSTATE_MAX);
	if (!scene->start.xstate || !scene->cpu.xstate || !scene->real.xstate)
		return -ENOMEM;
	return execute_new(&scene->execute);
}

void scene_done(struct scene *scene)
{
	oracle_done(&scene->oracle);
	execute_free(scene->execute);
	free(scene->start.xstate);
	free(scene->cpu.xstate);
	free(scene->real.xstate);
}

static uint8_t *inside(struct scene *scene, uint64_t addr, size_t size)
{
	uint64_t at = addr - ORACLE_WINDOW;

	if (at >= ORACLE_SIZE || size > ORACLE_SIZE - at)
		return NULL;
	return scene->window + at;
}

static int scene_read(void *context, uint64_t addr, void *buffer, size_t size)
{
	uint8_t *at = inside(context, addr, size);

	if (!at)
		return -EFAULT;
	memcpy(buffer, at, size);
	return 0;
}

static int scene_write(void *context, uint64_t addr, const void *buffer,
		       size_t size)
{
	uint8_t *at = inside(context, addr, size);

	if (!at)
		return -EFAULT;
	memcpy(at, buffer, size);
	return 0;
}

struct memory scene_memory(struct scene *scene)
{
	return (struct memory){ scene, scene_read, scene_write };
}

static void fill(struct random *random, void *buffer, size_t size)
{
	uint8_t *p = buffer;

	for (size_t i = 0; i < size; i++)
		p[i] = random_next(random) >> 24;
}

/* Numbers that are not all NaN or denormal, half of the time. */
static void fill_numbers(struct random *random, uint8_t *buffer, size_t size)
{
	unsigned kind = random_below(random, 4);

	fill(random, buffer, size);
	for (size_t i = 0; kind == 1 && i + 8 <= size; i += 8) {
		double d = (int32_t)random_next(random) / 7.0;

		memcpy(buffer + i, &d, 8);
	}
	for (size_t i = 0; kind == 2 && i + 4 <= size; i += 4) {
		float f = (int16_t)random_next(random) / 7.0f;

		memcpy(buffer + i, &f, 4);
	}
}

/* Masked exceptions mostly, any rounding; nothing pending. */
static void set_x87(struct random *random, uint8_t *x)
{
	uint16_t control = 0x37f, status = random_below(random, 8) << 11;
	uint32_t mxcsr = 0x1f80 | random_below(random, 4) << 13;

	if (random_below(random, 8) == 0)
		control ^= 1 << random_below(random, 6);
	control ^= random_below(random, 4) << 10;
	if (random_below(random, 8) == 0)
		mxcsr ^= 0x80 << random_below(random, 6);
	memset(x, 0, ST);
	memcpy(x, &control, 2);
	memcpy(x + 2, &status, 2);
	x[4] = random_below(random, 2) ? random_next(random) : 0;
	memcpy(x + MXCSR, &mxcsr, 4);
	for (unsigned i = 0; i < 8; i++) {
		long double value = (int32_t)random_next(random) / 1024.0L;

		memset(x + ST + 16 * i, 0, 16);
		memcpy(x + ST + 16 * i, &value, 10);
	}
}

/* AVX, opmask, ZMM, as far as the machine has them. */
static void set_components(struct scene *scene, uint8_t *x)
{
	unsigned a, b, c, d;
	uint64_t map;

	memcpy(&map, x + 464, 8); /* the kernel leaves XCR0 here */
	map &= 0xe7;
	for (unsigned i = 2; i < 8; i++) {
		if (!(map >> i & 1) ||
		    !__get_cpuid_count(13, i, &a, &b, &c, &d))
			continue;
		fill_numbers(&scene->random, x + b, a);
		/* Sparse and dense masks, some of one run. */
		for (unsigned k = 0; i == 5 && k < 8; k++) {
			uint64_t mask = random_next(&scene->random);

			mask >>= random_below(&scene->random, 64);
			if (k & 1)
				mask = UINT64_MAX >>
				       random_below(&scene->random, 64);
			if (k & 2)
				mask &= random_next(&scene->random);
			memcpy(x + b + 8 * k, &mask, 8);
		}
	}
	memcpy(x + HEADER, &map, 8);
}

void scene_state(struct scene *scene)
{
	struct random *random = &scene->random;
	struct cpu *cpu = &scene->start;

	cpu->regs = scene->oracle.regs;
	cpu->regs.rip = ORACLE_CODE;
	for (unsigned i = 0; i < REGISTERS; i++) {
		uint64_t value = random_next(random);
		unsigned kind = random_below(random, 4);

		if (kind < 2)
			value &= kind ? 0xffff : 0xff;
		else if (kind == 2)
			value = (int32_t)value;
		/* Some hypervisors cannot step with a stack in nowhere. */
		if (i == RSP)
			value &= INT32_MAX;
		register_set(&cpu->regs, i, value);
	}
	cpu->regs.eflags &= ~(uint64_t)FLAGS_STATUS;
	cpu->regs.eflags |= random_next(random) & FLAGS_STATUS;
	cpu->xstate_size = scene->oracle.xstate_size;
	memcpy(cpu->xstate, scene->oracle.xstate, cpu->xstate_size);
	fill_numbers(random, cpu->xstate + XMM, XMM_END - XMM);
	set_x87(random, cpu->xstate);
	set_components(scene, cpu->xstate);
	fill_numbers(random, scene->before, ORACLE_SIZE);
}

static void copy_cpu(struct cpu *to, const struct cpu *from)
{
	to->regs = from->regs;
	to->xstate_size = from->xstate_size;
	memcpy(to->xstate, from->xstate, from->xstate_size);
}

void scene_run(struct scene *scene)
{
	struct memory memory = scene_memory(scene);

	copy_cpu(&scene->cpu, &scene->start);
	copy_cpu(&scene->real, &scene->start);
	memcpy(scene->window, scene->before, ORACLE_SIZE);
	memcpy(scene->truth, scene->before, ORACLE_SIZE);
	scene->text[0] = 0;
	scene->begun = false;
	for (unsigned i = 0; i < 64; i++) {
		scene->result =
			execute_run(scene->execute, &scene->insn, &scene->cpu,
				    &memory, scene->effects, &scene->count);
		if (scene->result != EXECUTE_DONE ||
		    scene->cpu.regs.rip != ORACLE_CODE ||
		    scene->insn.kind != INSN_STRING)
			break;
		scene->begun = true;
	}
	scene->signal = oracle_step(&scene->oracle, &scene->insn, &scene->real,
				    scene->truth);
}

static void complain(struct scene *scene, const char *what, uint64_t where,
		     uint64_t ours, uint64_t real)
{
	size_t at = strlen(scene->text);

	snprintf(scene->text + at, sizeof(scene->text) - at,
		 " %s %#lx: ours %#lx, real %#lx;", what, where, ours, real);
}

static void compare_bytes(struct scene *scene, const char *what,
			  const uint8_t *ours, const uint8_t *real, size_t from,
			  size_t to)
{
	for (size_t i = from; i < to; i++) {
		if (ours[i] == real[i])
			continue;
		complain(scene, what, i, ours[i], real[i]);
		return;
	}
}

static void compare_xstate(struct scene *scene, const uint8_t *ours,
			   const uint8_t *real)
{
	unsigned a, b, c, d;
	uint64_t map;

	memcpy(&map, scene->oracle.xstate + 464, 8);
	compare_bytes(scene, "x87", ours, real, 0, 28);
	for (unsigned i = 0; i < 8; i++)
		compare_bytes(scene, "st", ours, real, ST + 16 * i,
			      ST + 16 * i + 10);
	compare_bytes(scene, "xmm", ours, real, XMM, XMM_END);
	for (unsigned i = 2; i < 8; i++)
		if ((map & 0xe7) >> i & 1 &&
		    __get_cpuid_count(13, i, &a, &b, &c, &d))
			compare_bytes(scene, "component", ours, real, b, b + a);
}

static void compare_regs(struct scene *scene,
			 const struct user_regs_struct *ours,
			 const struct user_regs_struct *real)
{
	for (unsigned i = 0; i < REGISTERS; i++)
		if (register_get(ours, i) != register_get(real, i))
			complain(scene, "register", i, register_get(ours, i),
				 register_get(real, i));
	if (ours->rip != real->rip)
		complain(scene, "rip", 0, ours->rip, real->rip);
	if (ours->eflags != real->eflags)
		complain(scene, "eflags", 0, ours->eflags, real->eflags);
}

/* Bytes that several lanes of a scatter wrote are in several effects. */
static void check_store(struct scene *scene, const struct effect *effect,
			const uint8_t *told)
{
	uint64_t at = effect->access.addr - ORACLE_WINDOW;

	for (unsigned i = 0; i < effect->shown; i++) {
		if (told[at + i] > 1)
			continue;
		compare_bytes(scene, "effect's new", effect->new,
			      scene->truth + at, i, i + 1);
		compare_bytes(scene, "effect's old", effect->old,
			      scene->before + at, i, i + 1);
	}
}

/* Each changed byte must be told, and what is told must be so. */
static void check_effects(struct scene *scene)
{
	uint8_t told[ORACLE_SIZE] = { 0 };

	for (unsigned i = 0; i < scene->count; i++) {
		const struct effect *effect = &scene->effects[i];
		uint64_t at = effect->access.addr - ORACLE_WINDOW;

		if (at + effect->access.size > ORACLE_SIZE) {
			complain(scene, "effect outside", i, at, 0);
			return;
		}
		if (effect->access.op & ACCESS_WRITE)
			for (uint64_t k = 0; k < effect->access.size; k++)
				told[at + k]++;
		else if (memcmp(effect->old, effect->new, effect->shown))
			complain(scene, "effect of a read", i, 0, 0);
	}
	for (unsigned i = 0; i < scene->count; i++)
		if (scene->effects[i].access.op & ACCESS_WRITE)
			check_store(scene, &scene->effects[i], told);
	for (size_t i = 0; i < ORACLE_SIZE; i++)
		if (!told[i] && scene->truth[i] != scene->before[i]) {
			complain(scene, "not told", i, 0, 0);
			return;
		}
}

bool scene_agrees(struct scene *scene)
{
	bool done = scene->result == EXECUTE_DONE || scene->begun;
	const struct cpu *expected = done ? &scene->real : &scene->start;

	/* RF is shown at a fault in the middle of a run. */
	if (scene->begun)
		scene->real.regs.eflags &= ~(uint64_t)FLAG_RF;
	else if (done && scene->signal) {
		complain(scene, "signal", 0, 0, scene->signal);
		return false;
	}
	compare_regs(scene, &scene->cpu.regs, &expected->regs);
	compare_xstate(scene, scene->cpu.xstate, expected->xstate);
	compare_bytes(scene, "memory", scene->window,
		      done ? scene->truth : scene->before, 0, ORACLE_SIZE);
	if (done && !scene->begun)
		check_effects(scene);
	return !scene->text[0];
}
