/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of an interpreter, changed at random: the first byte tells the
 * version, each six that follow a place and a word there, or a piece of memory
 * copied to it.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/cpython_scene.h"

enum { CHANGES = 64, PATCH = 6 };

static uint64_t place(const struct scene *scene, unsigned word)
{
	const uint64_t hot[] = { scene->order,	scene->list,  scene->items,
				 scene->dict,	scene->keys,  scene->order_type,
				 scene->code,	scene->frame, scene->thread,
				 scene->cframe, scene->stack, scene->py->type };
	uint64_t addr = hot[word % ARRAY_SIZE(hot)] + (word >> 4 & 0x3f) * 8;

	if (word & 0x8000)
		addr = SCENE_BASE + (word & 0x7fff) * 8;
	if (addr < SCENE_BASE || addr > SCENE_BASE + SCENE_SIZE - 8)
		addr = SCENE_BASE;
	return addr;
}

static void change(struct scene *scene, const uint8_t patch[PATCH])
{
	uint64_t addr = place(scene, patch[0] | patch[1] << 8);
	uint64_t from = place(scene, patch[2] | patch[3] << 8);
	uint64_t word = from;

	switch (patch[4] % 5) {
	case 0:
		memcpy(&word, scene->image + (from - SCENE_BASE), 8);
		break;
	case 1:
		word = patch[5];
		break;
	case 2:
		word = (uint64_t)(int64_t)(int8_t)patch[5];
		break;
	case 3:
		memset(&word, patch[5], sizeof(word));
		break;
	default:
		break;
	}
	scene_word(scene, addr, word);
}

static void check(const struct component *got, uint64_t addr)
{
	if (!got->kind)
		return;
	expect(got->runtime && got->how);
	expect(got->confidence != CONFIDENCE_NONE);
	expect(got->name[0] && strlen(got->name) < COMPONENT_NAME);
	expect(strlen(got->member) < COMPONENT_MEMBER);
	expect(got->start <= addr);
	expect(!got->size || addr - got->start < got->size);
}

static void resolve(struct scene *scene, uint64_t addr, uint64_t candidate)
{
	uint64_t registers[16] = { scene->list, scene->dict, scene->order };
	struct query query = { .addr = addr,
			       .size = 8,
			       .write = candidate & 8,
			       .sp = scene->stack,
			       .fs_base = 0x4321000,
			       .candidates = { candidate },
			       .ncandidates = 1,
			       .registers = registers };
	struct component got = { 0 };

	pages_forget(scene->view.pages);
	runtime_cpython.epoch(scene->py);
	runtime_cpython.resolve(scene->py, &query, &got);
	check(&got, addr);
}

static void frames(struct scene *scene)
{
	static struct managed managed;
	const struct native_frame native[] = {
		{ 0x430000, scene->stack + 128 },
		{ 0x410100, scene->stack + 512 },
		{ 0x410200, scene->stack + 640 },
	};
	struct user_regs_struct regs = { .rsp = scene->stack + 16,
					 .fs_base = 0x4321000 };
	struct stack_query query = { .regs = &regs,
				     .native = native,
				     .count = ARRAY_SIZE(native),
				     .whole = true };

	for (unsigned sleeping = 0; sleeping < 2; sleeping++) {
		managed.count = managed.words = 0;
		runtime_cpython.frames(scene->py, &query, &managed);
		expect(managed.count <= MANAGED_FRAMES);
		expect(managed.words <= MANAGED_WORDS);
		for (size_t i = 0; i < managed.count; i++) {
			expect(managed.frame[i].before < query.count);
			expect(managed.frame[i].function);
			expect(!i || managed.frame[i].before >=
					     managed.frame[i - 1].before);
		}
		regs.fs_base = 0;
	}
}

static int visit(void *context, const struct component *object)
{
	expect(object->kind && object->name[0]);
	return 0;
}

/* One of each version is made; @data's tells which, and it is as new. */
static struct scene *renewed(uint8_t version)
{
	static struct scene *scenes[5];
	static uint8_t images[5][SCENE_SIZE];
	unsigned i = version % 5;

	if (!scenes[i]) {
		scenes[i] = scene_new(9 + i);
		memcpy(images[i], scenes[i]->image, SCENE_SIZE);
	}
	memcpy(scenes[i]->image, images[i], SCENE_SIZE);
	py_classes_forget(scenes[i]->py);
	py_codes_forget(scenes[i]->py);
	table_done(&scenes[i]->py->owners);
	memset(scenes[i]->py->thread, 0, sizeof(scenes[i]->py->thread));
	memset(scenes[i]->py->dying, 0, sizeof(scenes[i]->py->dying));
	memset(scenes[i]->py->sre, 0, sizeof(scenes[i]->py->sre));
	return scenes[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scan scan = { SCENE_BASE, SCENE_BASE + SCENE_SIZE, "*", visit,
			     NULL };
	struct scene *scene;

	if (!size)
		return 0;
	scene = renewed(data[0]);
	scene_put_match(scene);
	if (scene->minor >= 11 && data[0] & 0x40)
		scene_put_on_stack(scene);
	pages_forget(scene->view.pages);
	/* Some of it is known from before. */
	resolve(scene, scene->list + 8, scene->list);
	resolve(scene, scene->order, scene->order);
	frames(scene);
	for (size_t i = 1; i + PATCH <= size && i < CHANGES * PATCH; i += PATCH)
		change(scene, data + i);
	const uint64_t addr[] = { scene->order,	     scene->order + 24,
				  scene->values,     scene->list + 16,
				  scene->items + 8,  scene->dict + 32,
				  scene->keys + 64,  scene->freed,
				  scene->types + 8,  scene->list,
				  scene->pools + 64, scene->pools + 96 };
	for (size_t i = 0; i < ARRAY_SIZE(addr); i++) {
		resolve(scene, addr[i], addr[i] & ~UINT64_C(15));
		resolve(scene, addr[i], scene->list);
		resolve(scene, addr[i], addr[i] | 8);
	}
	frames(scene);
	if (data[0] & 0x80)
		runtime_cpython.each(scene->py, &scan);
	return 0;
}
