/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/cpython_scene.h"

enum {
	HEAP_TYPE_SIZE = 1064,
	READY = PY_READY,
	POOL_HEAD = 48,
};

void scene_put(struct scene *scene, uint64_t addr, const void *bytes,
	       size_t size)
{
	assert(addr >= SCENE_BASE && addr - SCENE_BASE + size <= SCENE_SIZE);
	memcpy(scene->image + (addr - SCENE_BASE), bytes, size);
	pages_forget(scene->view.pages);
}

void scene_word(struct scene *scene, uint64_t addr, uint64_t word)
{
	scene_put(scene, addr, &word, sizeof(word));
}

static int read_image(void *context, uint64_t addr, void *buffer, size_t size)
{
	const struct scene *scene = context;
	uint64_t at = addr - SCENE_BASE;

	if (at >= SCENE_SIZE || size > SCENE_SIZE - at)
		return -EFAULT;
	memcpy(buffer, scene->image + at, size);
	return 0;
}

/* Of what is no object of a pool. */
static uint64_t room(struct scene *scene, uint64_t size)
{
	uint64_t addr = scene->next;

	scene->next += (size + 15) & ~UINT64_C(15);
	assert(scene->next <= SCENE_BASE + SCENE_MODULE);
	return addr;
}

/* The first block of a pool of its own, of blocks of @size. */
static uint64_t block(struct scene *scene, uint32_t size)
{
	uint32_t pool = scene->py->layout.pool, head[12] = { 1 };
	uint64_t addr = scene->pools;

	size = (size + 15) & ~15u;
	head[9] = size / 16 - 1;
	head[10] = POOL_HEAD + 2 * size;
	head[11] = pool - size;
	scene_put(scene, addr, head, sizeof(head));
	scene->pools += pool;
	assert(scene->pools <= SCENE_BASE + SCENE_SIZE);
	return addr + POOL_HEAD;
}

static uint64_t text(struct scene *scene, const char *string)
{
	size_t size = strlen(string);
	uint64_t addr = room(scene, scene->py->layout.ascii + size + 1);
	uint32_t state = 1 << 2 | 0x20 | 0x40 | (scene->minor < 12 ? 0x80 : 0);

	scene_word(scene, addr, 2);
	scene_word(scene, addr + 8, scene->py->str);
	scene_word(scene, addr + 16, size);
	scene_put(scene, addr + 32, &state, 4);
	scene_put(scene, addr + scene->py->layout.ascii, string, size + 1);
	return addr;
}

static uint64_t c_text(struct scene *scene, const char *string)
{
	uint64_t addr = room(scene, strlen(string) + 1);

	scene_put(scene, addr, string, strlen(string) + 1);
	return addr;
}

/* Keys that are text: their entries name no values, but where they would. */
static void put_keys(struct scene *scene, uint64_t addr, bool split,
		     const char *const *name, uint64_t count)
{
	struct py_keys keys;
	uint64_t head[5] = { 1 };

	if (scene->minor < 11) {
		head[1] = 8;
		head[3] = 5 - count;
		head[4] = count;
		scene_put(scene, addr, head, 40);
	} else {
		head[1] = 3 | 3 << 8 | (split ? 2 : 1) << 16;
		head[2] = 5 - count;
		head[3] = count;
		scene_put(scene, addr, head, 32);
	}
	assert(py_keys(scene->py, addr, &keys));
	for (uint64_t i = 0; i < count; i++)
		scene_word(scene, keys.first + i * keys.entry + keys.key,
			   text(scene, name[i]));
}

static uint64_t type(struct scene *scene, const char *name, uint64_t basic,
		     uint64_t item, uint32_t flags)
{
	uint64_t addr = room(scene, HEAP_TYPE_SIZE);

	scene_word(scene, addr, 1);
	scene_word(scene, addr + 8, scene->py->type ? scene->py->type : addr);
	scene_word(scene, addr + 24, c_text(scene, name));
	scene_word(scene, addr + 32, basic);
	scene_word(scene, addr + 40, item);
	scene_word(scene, addr + 168, flags | READY);
	return addr;
}

static void put_types(struct scene *scene)
{
	struct cpython *py = scene->py;

	py->type = type(scene, "type", 920, 40, PY_GC);
	py->str = type(scene, "str", 56, 0, 0);
	py->list = type(scene, "list", 40, 0, PY_GC | 1 << 25);
	py->dict = type(scene, "dict", 48, 0, PY_GC | 1 << 29);
	py->tuple = type(scene, "tuple", 24, 8, PY_GC | 1 << 26);
	py->integer = type(scene, "int", 24, 4, 0);
	py->code_type = type(scene, "code", 184, 2, 0);
}

static void put_object(struct scene *scene, uint64_t addr, uint64_t class)
{
	scene_word(scene, addr, 3);
	scene_word(scene, addr + 8, class);
}

/* class Order of the module shop, with two attributes. */
static void put_order(struct scene *scene)
{
	static const char *const name[] = { "name", "price" };
	static const char *const module[] = { "__module__" };
	const struct py_layout *layout = &scene->py->layout;
	uint64_t keys = room(scene, 200), dict = room(scene, 48);
	uint64_t own = room(scene, 200);
	uint32_t flags = PY_GC | PY_HEAP_TYPE;
	unsigned before = 16;
	struct py_keys found;

	if (scene->minor >= 11) {
		flags |= PY_MANAGED_DICT;
		before = 32;
	}
	if (scene->minor >= 13)
		flags |= PY_INLINE_VALUES;
	scene->order_type =
		type(scene, "Order", scene->minor < 11 ? 32 : 16, 0, flags);
	put_keys(scene, keys, true, name, 2);
	put_keys(scene, own, false, module, 1);
	py_keys(scene->py, own, &found);
	scene_word(scene, found.first + found.key + 8, text(scene, "shop"));
	put_object(scene, dict, scene->py->dict);
	scene_word(scene, dict + 32, own);
	scene_word(scene, scene->order_type + 264, dict);
	scene_word(scene, scene->order_type + layout->qualname,
		   text(scene, "Order"));
	scene_word(scene, scene->order_type + layout->keys, keys);
	scene->order =
		block(scene, before + (scene->minor < 13 ? 32 : 72)) + before;
	put_object(scene, scene->order, scene->order_type);
	if (scene->minor == 11 || scene->minor == 12) {
		scene->values = block(scene, 64) + 16;
		scene_word(scene, scene->order - (scene->minor == 11 ? 32 : 24),
			   scene->values - (scene->minor == 12));
	}
	if (scene->minor == 13)
		scene->values = scene->order + 24;
}

static void put_containers(struct scene *scene)
{
	static const char *const name[] = { "name", "price" };
	uint64_t list;

	scene->list = block(scene, 56) + 16;
	scene->items = block(scene, 32);
	put_object(scene, scene->list, scene->py->list);
	scene_word(scene, scene->list + 16, 3);
	scene_word(scene, scene->list + 24, scene->items);
	scene_word(scene, scene->list + 32, 4);
	for (unsigned i = 0; i < 3; i++)
		scene_word(scene, scene->items + 8 * i, scene->order);

	scene->dict = block(scene, 64) + 16;
	scene->keys = block(scene, 192);
	put_object(scene, scene->dict, scene->py->dict);
	put_keys(scene, scene->keys, false, name, 2);
	scene_word(scene, scene->dict + 32, scene->keys);

	scene->freed = block(scene, 56) + 16;
	scene_word(scene, scene->freed + 8, scene->py->list);

	/* Low addresses, as those of a program at a fixed place, are counts */
	scene->types = block(scene, 48);
	scene_word(scene, scene->types, 0x959000);
	scene_word(scene, scene->types + 8, scene->py->list);
	list = block(scene, 56) + 16;
	put_object(scene, list, scene->py->list);
	scene_word(scene, list + 24, scene->types);
	scene_word(scene, list + 32, 6);
	scene_word(scene, list + 16, 6);
}

/* f() in shop.py, from line 10 on; each line has 4 bytes. */
static void put_code(struct scene *scene)
{
	static const uint8_t lines_9[] = { 4, 1, 4, 1 };
	static const uint8_t lines_10[] = { 4, 0, 4, 1, 4, 1 };
	static const uint8_t lines_11[] = { 0xf1, 0, 0xd9, 0, 0xd9, 0 };
	const struct py_layout *layout = &scene->py->layout;
	uint64_t lines = room(scene, 64);
	const uint8_t *table = scene->minor == 9    ? lines_9
			       : scene->minor == 10 ? lines_10
						    : lines_11;
	uint64_t size = scene->minor == 9 ? 4 : 6;
	uint32_t first = 10;

	scene->code = room(scene, 320);
	put_object(scene, scene->code, scene->py->code_type);
	scene_word(scene, scene->code + layout->co_filename,
		   text(scene, "/srv/shop.py"));
	scene_word(scene, scene->code + layout->co_name,
		   text(scene, "Order.f"));
	scene_word(scene, scene->code + layout->co_lines, lines);
	scene_put(scene, scene->code + layout->co_first_line, &first, 4);
	scene_word(scene, lines + 16, size);
	scene_put(scene, lines + 32, table, size);
}

/* A loop that runs f(), at its third line, which f() at its second called. */
static void put_frames(struct scene *scene)
{
	const struct py_layout *layout = &scene->py->layout;
	uint64_t frame[3], code = scene->code + layout->co_code;
	uint8_t owner;

	scene->stack = room(scene, 1024);
	for (unsigned i = 0; i < 3; i++)
		frame[i] = room(scene, 128);
	if (scene->minor >= 12)
		frame[2] = scene->stack + 256;
	for (unsigned i = 0; i < 2; i++) {
		uint32_t at = i ? 4 : 8;

		scene_word(scene, frame[i] + layout->back, frame[i + 1]);
		scene_word(scene, frame[i] + layout->code, scene->code);
		scene_word(scene, frame[i] + layout->instruction, code + at);
		if (scene->minor < 11) {
			at /= scene->minor == 10 ? 2 : 1;
			scene_put(scene, frame[i] + layout->instruction, &at,
				  4);
		}
	}
	if (scene->minor < 11)
		scene_word(scene, frame[1] + layout->back, 0);
	owner = 1;
	if (scene->minor == 11)
		scene_put(scene, frame[1] + layout->owner - 1, &owner, 1);
	owner = 3;
	if (scene->minor >= 12)
		scene_put(scene, frame[2] + layout->owner, &owner, 1);
	scene->frame = frame[0];
}

static void put_thread(struct scene *scene)
{
	const struct py_layout *layout = &scene->py->layout;
	uint64_t interpreter = room(scene, 8192), current = scene->frame;

	scene->py->runtime = room(scene, 1024);
	scene->thread = room(scene, 512);
	scene_word(scene, scene->py->runtime + layout->interpreters,
		   interpreter);
	scene_word(scene, interpreter + layout->threads, scene->thread);
	scene_word(scene, scene->thread + layout->thread_id, 0x4321000);
	if (scene->minor == 11 || scene->minor == 12) {
		scene->cframe = scene->stack + 192;
		scene_word(scene, scene->cframe + layout->cframe_frame,
			   scene->frame);
		current = scene->cframe;
	}
	scene_word(scene, scene->thread + layout->thread_frame, current);
}

uint64_t scene_put_on_stack(struct scene *scene)
{
	const struct py_layout *layout = &scene->py->layout;
	uint64_t chunk = scene->pools, frame = chunk + 24,
		 names = scene->stack + 800, name;
	bool found;
	uint32_t count[] = { 3, 10, 2, 14 }; /* stack, line, variables, all */

	found = py_word(scene->py, scene->code + layout->co_name, &name);
	assert(found);
	scene_word(scene, names + 24, name);
	scene_word(scene, names + 32, name);
	scene_word(scene, scene->code + layout->co_filename - 16, names);
	scene_put(scene, scene->code + layout->co_first_line - 4, count,
		  sizeof(count));
	scene_word(scene, chunk + 8, 16384);
	scene_word(scene, frame + layout->code, scene->code);
	scene_word(scene, frame + layout->back, scene->frame);
	scene_word(scene,
		   layout->minor < 13 ? scene->cframe + layout->cframe_frame
				      : scene->thread + layout->thread_frame,
		   frame);
	return frame;
}

uint64_t scene_put_match(struct scene *scene)
{
	const struct py_layout *layout = &scene->py->layout;
	uint64_t state = scene->stack + 512, list = scene->list;
	const uint64_t words[] = { list + 24, list + 24, list + 24, list + 32,
				   list };

	scene_put(scene, state, words, sizeof(words));
	scene_word(scene, state + layout->sre_mark, scene->items);
	scene_word(scene, state + layout->sre_stack, scene->freed - 16);
	scene_word(scene, state + layout->sre_stack + 8, 60);
	scene_word(scene, state + layout->sre_stack + 16, 8);
	scene_word(scene, scene->stack + 48, state);
	return state;
}

struct scene *scene_new(unsigned minor)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct symbols *symbols;

	assert(scene && symbols_new(getpid(), &symbols) == 0);
	scene->minor = minor;
	scene->next = SCENE_BASE + 64;
	scene->pools = SCENE_BASE + SCENE_MODULE;
	scene->module = (struct module){ .start = 0x400000,
					 .text_start = 0x400000,
					 .text_end = 0x500000 };
	scene->mapping[0] = (struct mapping){ .start = SCENE_BASE,
					      .end = SCENE_BASE + SCENE_SIZE,
					      .prot = PROT_READ | PROT_WRITE,
					      .path = (char *)"" };
	/* objects do not lie where the stack does */
	scene->mapping[1] = scene->mapping[0];
	scene->mapping[0].end = scene->mapping[1].start =
		SCENE_BASE + SCENE_MODULE;
	scene->maps = (struct maps){ scene->mapping, 2 };
	scene->world = (struct world){ .pid = getpid(),
				       .memory = { scene, read_image, NULL },
				       .maps = &scene->maps,
				       .symbols = symbols };
	scene->view.world = &scene->world;
	scene->view.pages = pages_new(&scene->world.memory);
	scene->view.heap = heap_new(scene->view.pages);
	assert(scene->view.pages && scene->view.heap);
	heap_remap(scene->view.heap, &scene->maps, symbols);
	scene->py = calloc(1, sizeof(*scene->py));
	assert(scene->py && py_layout_of(minor));
	scene->py->layout = *py_layout_of(minor);
	scene->py->view = &scene->view;
	scene->py->module = &scene->module;
	scene->py->epoch = 1;
	scene->py->eval.start = 0x410000;
	scene->py->eval.end = 0x420000;
	put_types(scene);
	put_order(scene);
	put_containers(scene);
	put_code(scene);
	put_frames(scene);
	put_thread(scene);
	pages_forget(scene->view.pages);
	scene->py->epoch++;
	return scene;
}

void scene_free(struct scene *scene)
{
	py_classes_forget(scene->py);
	py_codes_forget(scene->py);
	table_done(&scene->py->owners);
	free(scene->py);
	heap_free(scene->view.heap);
	pages_free(scene->view.pages);
	symbols_free(scene->world.symbols);
	free(scene);
}
