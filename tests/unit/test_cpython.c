/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "tests/unit/cpython_scene.h"

static void ask(struct scene *scene, uint64_t addr, uint64_t candidate,
		struct component *ret)
{
	struct query query = { .addr = addr,
			       .size = 8,
			       .candidates = { candidate },
			       .ncandidates = candidate ? 1 : 0 };

	memset(ret, 0, sizeof(*ret));
	pages_forget(scene->view.pages);
	runtime_cpython.epoch(scene->py);
	runtime_cpython.resolve(scene->py, &query, ret);
}

static void expect_object(struct scene *scene, uint64_t addr,
			  uint64_t candidate, const char *class,
			  const char *member, uint64_t start)
{
	struct component got;

	ask(scene, addr, candidate, &got);
	assert_non_null(got.kind);
	assert_string_equal(got.kind, "object");
	assert_string_equal(got.name, class);
	assert_string_equal(got.member, member);
	assert_int_equal(got.start, start);
	assert_int_equal(got.confidence, CONFIDENCE_EXACT);
}

static void expect_block(struct scene *scene, uint64_t addr, const char *name)
{
	struct component got;

	ask(scene, addr, 0, &got);
	assert_non_null(got.kind);
	assert_string_equal(got.kind, "block");
	assert_string_equal(got.name, name);
}

static void each_version(void (*check)(struct scene *scene))
{
	for (unsigned minor = 9; minor <= 13; minor++) {
		struct scene *scene = scene_new(minor);

		check(scene);
		scene_free(scene);
	}
}

static void check_objects(struct scene *scene)
{
	uint64_t list = scene->list, dict = scene->dict;

	expect_object(scene, list, list, "list", "ob_refcnt", list);
	expect_object(scene, list + 8, list, "list", "ob_type", list);
	expect_object(scene, list + 24, list, "list", "ob_item", list);
	expect_object(scene, dict + 32, dict, "dict", "ma_keys", dict);
	expect_object(scene, scene->order, scene->order, "shop.Order",
		      "ob_refcnt", scene->order);
	/* found by their blocks */
	expect_object(scene, list + 32, 0, "list", "allocated", list);
	expect_object(scene, list - 8, 0, "list", "_gc_prev", list - 16);
	expect_block(scene, list - 32, "pool header");
}

static void test_objects(void **state)
{
	each_version(check_objects);
}

static void check_owners(struct scene *scene)
{
	expect_block(scene, scene->items + 8, "pool block");
	expect_block(scene, scene->keys, "dict keys");
	/* told by a register, and from then on without */
	expect_object(scene, scene->items + 8, scene->list, "list", "[1]",
		      scene->items);
	expect_object(scene, scene->items + 16, 0, "list", "[2]", scene->items);
	/* learnt when the owner itself was met */
	expect_object(scene, scene->dict + 16, scene->dict, "dict", "ma_used",
		      scene->dict);
	expect_object(scene, scene->keys, 0, "dict", "ma_keys", scene->keys);
	/* and not any longer when it points elsewhere */
	scene_word(scene, scene->list + 24, scene->freed);
	expect_block(scene, scene->items + 8, "pool block");
}

static void test_owners(void **state)
{
	each_version(check_owners);
}

/* As a thread of the target does that takes away a reference. */
static void last_reference(struct scene *scene, uint64_t addr)
{
	struct query query = { .addr = addr, .size = 8, .write = true };
	struct component got = { 0 };

	scene_word(scene, addr, 0);
	runtime_cpython.epoch(scene->py);
	runtime_cpython.resolve(scene->py, &query, &got);
	assert_string_equal(got.name, "list");
	assert_string_equal(got.member, "ob_refcnt");
}

static void check_dying(struct scene *scene)
{
	uint64_t list = scene->list, pool = list & ~(uint64_t)(4096 - 1);

	last_reference(scene, list);
	expect_object(scene, list + 24, 0, "list", "ob_item", list);
	expect_object(scene, scene->items, list, "list", "[0]", scene->items);
	/* given back, and given out anew: nothing is in it yet */
	scene_word(scene, pool + 8, list - 16);
	expect_block(scene, list + 24, "free pool block");
	scene_word(scene, pool + 8, 0);
	expect_block(scene, list + 24, "pool block");
}

static void test_dying(void **state)
{
	each_version(check_dying);
}

static void check_entries(struct scene *scene)
{
	struct py_keys keys;
	uint64_t entry;

	assert_true(py_keys(scene->py, scene->keys, &keys));
	entry = keys.first + keys.entry + keys.key;
	expect_object(scene, entry, scene->dict, "dict", "['price'].me_key",
		      scene->keys);
	expect_object(scene, entry + 8, scene->dict, "dict",
		      "['price'].me_value", scene->keys);
	expect_object(scene, keys.first - 1, scene->dict, "dict",
		      "ma_keys.dk_indices", scene->keys);
}

static void test_entries(void **state)
{
	each_version(check_entries);
}

static void check_attributes(struct scene *scene)
{
	uint64_t start = scene->minor == 13 ? scene->order : scene->values - 16;

	if (!scene->values)
		return;
	expect_object(scene, scene->values, scene->order, "shop.Order", "name",
		      start);
	expect_object(scene, scene->values + 8, 0, "shop.Order", "price",
		      start);
}

static void test_attributes(void **state)
{
	each_version(check_attributes);
}

static void check_others(struct scene *scene)
{
	struct component got;

	/* dead, with its class still in it */
	expect_block(scene, scene->freed + 16, "pool block");
	ask(scene, scene->freed + 16, scene->freed, &got);
	assert_string_equal(got.kind, "block");
	/* two classes in a row are no object with so many references */
	expect_block(scene, scene->types + 8, "pool block");
	ask(scene, scene->types + 8, scene->types, &got);
	assert_string_equal(got.kind, "block");
	/* a class that is none */
	scene_word(scene, scene->list + 8, scene->list);
	expect_block(scene, scene->list + 16, "pool block");
	scene_word(scene, scene->list + 8, scene->py->list);
	scene_word(scene, scene->py->list + 8, scene->order);
	expect_block(scene, scene->list + 16, "pool block");
	scene_word(scene, scene->py->list + 8, scene->py->type);
	expect_object(scene, scene->list + 16, 0, "list", "ob_size",
		      scene->list);
}

static void test_what_is_none(void **state)
{
	each_version(check_others);
}

static void check_renamed(struct scene *scene)
{
	uint64_t name;

	expect_object(scene, scene->order, scene->order, "shop.Order",
		      "ob_refcnt", scene->order);
	/* another class in its place: all is where it was but the text */
	memcpy(&name,
	       scene->image + (scene->order_type - SCENE_BASE) +
		       scene->py->layout.qualname,
	       8);
	scene_put(scene, name + scene->py->layout.ascii, "Other", 5);
	expect_object(scene, scene->order, scene->order, "shop.Other",
		      "ob_refcnt", scene->order);
}

static void test_a_class_in_the_place_of_another(void **state)
{
	each_version(check_renamed);
}

struct seen {
	unsigned objects, parts;
};

static int count(void *context, const struct component *object)
{
	struct seen *seen = context;

	if (object->member[0])
		seen->parts++;
	else
		seen->objects++;
	return 0;
}

static void check_scan(struct scene *scene)
{
	struct seen lists = { 0 }, orders = { 0 };
	struct scan scan = { SCENE_BASE, SCENE_BASE + SCENE_SIZE, "list", count,
			     &lists };

	assert_int_equal(runtime_cpython.each(scene->py, &scan), 0);
	assert_int_equal(lists.objects, 2);
	assert_int_equal(lists.parts, 2);
	scan.class = "shop.*";
	scan.context = &orders;
	assert_int_equal(runtime_cpython.each(scene->py, &scan), 0);
	assert_int_equal(orders.objects, 1);
}

static void test_scan(void **state)
{
	each_version(check_scan);
}

static void check_frames(struct scene *scene)
{
	/* a function of C, the loop, and who called it */
	const struct native_frame native[] = {
		{ 0x430000, scene->stack + 128 },
		{ 0x410100, scene->stack + 512 },
		{ 0x440000, scene->stack + 640 },
	};
	struct user_regs_struct regs = { .rsp = scene->stack + 16,
					 .fs_base = 0x4321000 };
	struct stack_query query = { .regs = &regs,
				     .native = native,
				     .count = ARRAY_SIZE(native),
				     .whole = true };
	struct managed *managed = calloc(1, sizeof(*managed));
	size_t expected = scene->minor < 11 ? 1 : 2;

	assert_non_null(managed);
	assert_int_equal(runtime_cpython.frames(scene->py, &query, managed), 0);
	assert_int_equal(managed->count, expected);
	for (size_t i = 0; i < expected; i++) {
		const struct managed_frame *frame = &managed->frame[i];

		assert_int_equal(frame->before, 1);
		assert_string_equal(frame->function, "Order.f");
		assert_string_equal(frame->file, "/srv/shop.py");
		assert_int_equal(frame->line, i ? 11 : 12);
	}
	assert_true(managed->words >= 2 && !managed->fleeting);

	/* another thread's */
	managed->count = 0;
	regs.fs_base = 0x4322000;
	assert_int_equal(runtime_cpython.frames(scene->py, &query, managed),
			 -ENOENT);
	assert_int_equal(managed->count, 0);
	free(managed);
}

static void test_frames(void **state)
{
	each_version(check_frames);
}

static void expect_frame(struct scene *scene, uint64_t addr, const char *name,
			 const char *member)
{
	struct query query = { .addr = addr, .size = 8, .fs_base = 0x4321000 };
	struct component got = { 0 };

	runtime_cpython.epoch(scene->py);
	runtime_cpython.resolve(scene->py, &query, &got);
	assert_non_null(got.kind);
	assert_string_equal(got.kind, "stack");
	assert_string_equal(got.name, name);
	assert_string_equal(got.member, member);
	/* another thread has no frame there */
	query.fs_base = 0x4322000;
	memset(&got, 0, sizeof(got));
	runtime_cpython.resolve(scene->py, &query, &got);
	assert_null(got.kind);
}

static void check_stack(struct scene *scene)
{
	uint64_t frame;

	if (scene->minor < 11)
		return;
	frame = scene_put_on_stack(scene);
	expect_frame(scene, frame + 64, "Order.f", "stacktop");
	expect_frame(scene, frame + 72, "Order.f", "Order.f");
	expect_frame(scene, frame + 72 + 2 * 8, "Order.f", "<stack>[0]");
	expect_frame(scene, frame + 72 + 5 * 8, "data stack", "");
}

static void test_stack(void **state)
{
	each_version(check_stack);
}

static void expect_part(struct scene *scene, uint64_t state, uint64_t addr,
			const char *class, const char *member)
{
	uint64_t registers[16] = { [3] = state };
	struct query query = { .addr = addr,
			       .size = 8,
			       .sp = scene->stack,
			       .registers = registers };
	struct component got = { 0 };

	for (unsigned i = 0; i < 300; i++)
		runtime_cpython.epoch(scene->py);
	runtime_cpython.resolve(scene->py, &query, &got);
	assert_non_null(got.kind);
	assert_string_equal(got.name, class);
	assert_string_equal(got.member, member);
}

/* A match of re is under way: its text lies in an object. */
static void check_match(struct scene *scene)
{
	uint64_t state = scene_put_match(scene), block = scene->freed - 16;

	expect_part(scene, state, block + 32, "SRE_STATE", "data_stack");
	expect_part(scene, state, scene->items, "SRE_STATE", "mark");
	/* kept on the stack, not in a register */
	scene_word(scene, scene->stack + 48, state);
	expect_part(scene, 0, block + 32, "SRE_STATE", "data_stack");
	/* it is over */
	scene_word(scene, state + scene->py->layout.sre_stack, 0);
	expect_part(scene, 0, block + 32, "pool block", "");
}

static void test_match(void **state)
{
	each_version(check_match);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_dying),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_what_is_none),
		cmocka_unit_test(test_a_class_in_the_place_of_another),
		cmocka_unit_test(test_scan),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_match),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
