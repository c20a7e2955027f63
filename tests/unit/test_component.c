/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage: test_component TARGET...: builds of tests/targets/component_zoo.cc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/component_target.h"

enum { MAX_CLAIMS = 128 };

struct scene {
	struct target target;
	struct resolver *resolver;
	struct claim claim[MAX_CLAIMS];
	int claims;
	bool has_symbols;
};

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const char *path = *state;
	struct symbol symbol;

	assert_non_null(scene);
	scene->claims =
		target_start(&scene->target, path, scene->claim, MAX_CLAIMS);
	assert_true(scene->claims > 0);
	assert_int_equal(resolver_new(&scene->target.world, &scene->resolver),
			 0);
	scene->has_symbols = symbols_named(scene->target.symbols, NULL, "main",
					   &symbol, 1) > 0;
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	resolver_free(scene->resolver);
	target_stop(&scene->target);
	free(scene);
	return 0;
}

static uint64_t stack_of(const struct scene *scene)
{
	const struct maps *maps = scene->target.maps;

	for (size_t i = 0; i < maps->count; i++)
		if (!strcmp(maps->mapping[i].path, "[stack]"))
			return maps->mapping[i].start;
	return 0;
}

static struct query query_of(const struct scene *scene,
			     const struct claim *claim)
{
	return (struct query){
		.addr = claim->addr,
		.size = 4,
		.sp = stack_of(scene),
		.candidates = { claim->base },
		.ncandidates = claim->base ? 1 : 0,
	};
}

/* "static" is an object that only its symbol tells. */
static bool is_expected(const struct scene *scene, const struct claim *claim,
			const struct component *got)
{
	const char *kind = claim->kind;

	if (!scene->has_symbols &&
	    (!strcmp(kind, "global") || !strcmp(kind, "code")))
		return !strcmp(got->kind, "file");
	if (!strcmp(kind, "static")) {
		if (!scene->has_symbols)
			return got->confidence < CONFIDENCE_EXACT;
		kind = "object";
	}
	return !strcmp(got->kind, kind) && !strcmp(got->name, claim->name) &&
	       (!claim->start || got->start == claim->start) &&
	       (int)got->confidence >= claim->confidence &&
	       (!got->size || claim->addr - got->start < got->size);
}

/* How many answers are wrong; @epochs: the target ran between some. */
static int check_claims(struct scene *scene, bool epochs)
{
	int wrong = 0;

	for (int i = 0; i < scene->claims; i++) {
		const struct claim *claim = &scene->claim[i];
		struct query query = query_of(scene, claim);
		struct component got;

		if (epochs && i % 2)
			resolver_epoch(scene->resolver);
		resolver_resolve(scene->resolver, &query, &got);
		if (is_expected(scene, claim, &got))
			continue;
		wrong++;
		print_error("%s %s at %jx (register %jx): got %s %s %s %s, "
			    "start +%jd\n",
			    claim->kind, claim->name, (uintmax_t)claim->addr,
			    (uintmax_t)claim->base, got.kind, got.name, got.how,
			    confidence_name(got.confidence),
			    (intmax_t)(got.start - claim->start));
	}
	return wrong;
}

static void test_claims(void **state)
{
	assert_int_equal(check_claims(*state, false), 0);
	assert_int_equal(check_claims(*state, true), 0);
}

/* The map as our own mprotect leaves it: each data page for itself, closed. */
static void test_guarded(void **state)
{
	struct scene *scene = *state;
	const struct maps *maps = scene->target.maps;
	struct mapping *pieces = NULL;
	struct maps split = { 0 };

	for (size_t i = 0; i < maps->count; i++) {
		struct mapping m = maps->mapping[i];
		bool closed = (m.prot & PROT_WRITE) && m.path[0] != '[';

		closed |= !strcmp(m.path, "[heap]");
		while (m.start < maps->mapping[i].end) {
			pieces = reallocarray(pieces, split.count + 1,
					      sizeof(*pieces));
			assert_non_null(pieces);
			if (closed) {
				m.end = m.start + PAGE;
				m.prot =
					split.count % 2 ? PROT_NONE : PROT_READ;
			}
			pieces[split.count++] = m;
			m.offset += m.inode ? PAGE : 0;
			m.start = m.end;
		}
	}
	split.mapping = pieces;
	scene->target.world.maps = &split;
	assert_int_equal(symbols_update(scene->target.symbols, &split), 0);
	resolver_remap(scene->resolver);
	assert_int_equal(check_claims(scene, true), 0);
	free(pieces);
}

/* The first member of all is the vtable pointer. */
static void test_member(void **state)
{
	struct scene *scene = *state;
	struct query query = query_of(scene, &scene->claim[0]);
	struct component got;

	resolver_resolve(scene->resolver, &query, &got);
	assert_string_equal(got.member, "<vptr>");
	assert_int_equal(got.confidence, CONFIDENCE_EXACT);
	query.write = true;
	resolver_resolve(scene->resolver, &query, &got);
	assert_int_equal(got.confidence, CONFIDENCE_LIKELY);
	query.addr += 8;
	resolver_resolve(scene->resolver, &query, &got);
	/* A program that has symbols has debug information here. */
	assert_string_equal(got.member, scene->has_symbols ? "age" : "");
}

/* What no mapping holds is still answered. */
static void test_unmapped(void **state)
{
	struct scene *scene = *state;
	struct query query = { .addr = 16 };
	struct component got;

	resolver_resolve(scene->resolver, &query, &got);
	assert_string_equal(got.kind, "anon");
	assert_int_equal(got.confidence, CONFIDENCE_NONE);
}

struct count {
	const struct scene *scene;
	bool seen[MAX_CLAIMS];
	unsigned objects, foreign;
};

static int count_object(void *context, const struct component *object)
{
	struct count *count = context;

	count->objects++;
	if (strncmp(object->name, "zoo::", 5) != 0)
		count->foreign++;
	for (int i = 0; i < count->scene->claims; i++)
		if (count->scene->claim[i].start == object->start &&
		    !strcmp(count->scene->claim[i].name, object->name))
			count->seen[i] = true;
	return 0;
}

/* A scan finds all objects that are claimed and match. */
static void test_objects(void **state)
{
	struct scene *scene = *state;
	struct count count = { .scene = scene };

	assert_int_equal(resolver_objects(scene->resolver, 0, UINT64_MAX,
					  "zoo::*", count_object, &count),
			 0);
	assert_int_equal(count.foreign, 0);
	assert_true(count.objects > 15);
	for (int i = 0; i < scene->claims; i++)
		if (!strncmp(scene->claim[i].name, "zoo::L", 6) &&
		    strcmp(scene->claim[i].kind, "global") != 0)
			assert_true(count.seen[i]);
}

static int stop_at_once(void *context, const struct component *object)
{
	++*(int *)context;
	return 42;
}

static void test_objects_stop(void **state)
{
	struct scene *scene = *state;
	int calls = 0;

	assert_int_equal(resolver_objects(scene->resolver, 0, UINT64_MAX, "*",
					  stop_at_once, &calls),
			 42);
	assert_int_equal(calls, 1);
	assert_int_equal(resolver_objects(scene->resolver, 0, UINT64_MAX,
					  "no::such*", stop_at_once, &calls),
			 0);
}

static int look_for(void *context, const char *name)
{
	return !strcmp(name, context);
}

static void test_classes(void **state)
{
	static const char *const known[] = {
		"zoo::Griffin",
		"zoo::Cage<int>",
		"(anonymous namespace)::Hidden",
		"std::runtime_error",
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s", known[i]);
		assert_int_equal(
			resolver_classes(scene->resolver, look_for, name), 1);
	}
	assert_int_equal(resolver_classes(scene->resolver, look_for,
					  (char[]){ "zoo::Unicorn" }),
			 0);
}

/* Reads of a target that changes its memory under us, as a hostile one. */
struct noise {
	struct memory memory;
	uint64_t seed;
};

static uint64_t roll(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static int read_noise(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct noise *noise = context;
	uint8_t *bytes = buffer;
	int r = memory_read(&noise->memory, addr, buffer, size);

	if (r < 0 || size < 8)
		return r;
	for (size_t i = 0; i < size / 32; i++) {
		uint64_t dice = roll(&noise->seed);

		bytes[dice % size] ^= 1 << (dice >> 60) % 8;
	}
	return 0;
}

static int ignore(void *context, const struct component *object)
{
	*(size_t *)context += strlen(object->name);
	return 0;
}

static void test_hostile(void **state)
{
	struct scene *scene = *state;
	struct noise noise = { scene->target.world.memory, 0x1234567 };
	struct world world = scene->target.world;
	_cleanup_(resolver_freep) struct resolver *resolver = NULL;
	size_t bytes = 0;

	world.memory = (struct memory){ &noise, read_noise, NULL };
	assert_int_equal(resolver_new(&world, &resolver), 0);
	for (int i = 0; i < 20 * scene->claims; i++) {
		const struct claim *claim = &scene->claim[i % scene->claims];
		struct query query = query_of(scene, claim);
		struct component got;

		resolver_epoch(resolver);
		query.addr += roll(&noise.seed) % 128;
		resolver_resolve(resolver, &query, &got);
		assert_non_null(got.kind);
		assert_non_null(memchr(got.name, '\0', sizeof(got.name)));
	}
	assert_int_equal(
		resolver_objects(resolver, 0, UINT64_MAX, "*", ignore, &bytes),
		0);
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_claims),
			cmocka_unit_test(test_guarded),
			cmocka_unit_test(test_member),
			cmocka_unit_test(test_unmapped),
			cmocka_unit_test(test_objects),
			cmocka_unit_test(test_objects_stop),
			cmocka_unit_test(test_classes),
			cmocka_unit_test(test_hostile),
		};
		struct CMUnitTest group[ARRAY_SIZE(tests)];

		for (size_t k = 0; k < ARRAY_SIZE(tests); k++) {
			group[k] = tests[k];
			group[k].setup_func = set_up;
			group[k].teardown_func = tear_down;
			group[k].initial_state = argv[i];
		}
		print_message("%s\n", argv[i]);
		failed +=
			cmocka_run_group_tests_name(argv[i], group, NULL, NULL);
	}
	return failed || argc < 2;
}
