/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage: test_runtimes TARGET...: programs that print what must be said of
 * their objects, each in a runtime of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "base/table.h"
#include "tests/unit/component_target.h"

enum { MAX_CLAIMS = 8192 };

struct scene {
	struct target target;
	struct resolver *resolver;
	struct claim claim[MAX_CLAIMS];
	int claims;
};

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->claims =
		target_start(&scene->target, *state, scene->claim, MAX_CLAIMS);
	assert_true(scene->claims > 100);
	assert_int_equal(resolver_new(&scene->target.world, &scene->resolver),
			 0);
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

static struct query query_of(const struct claim *claim)
{
	return (struct query){
		.addr = claim->addr,
		.size = 1,
		.candidates = { claim->base },
		.ncandidates = claim->base ? 1 : 0,
	};
}

/* "gone": an object that is freed is not said to be there. */
static bool is_right(const struct claim *claim, const struct component *got)
{
	if (!strcmp(claim->kind, "gone"))
		return strcmp(got->kind, "object") != 0 ||
		       got->confidence < CONFIDENCE_EXACT;
	return !strcmp(got->kind, "object") &&
	       !strcmp(got->name, claim->name) && got->start == claim->start &&
	       (int)got->confidence >= claim->confidence &&
	       claim->addr - got->start < got->size;
}

/* How many answers are wrong; @epochs: the target ran between some. */
static int check(struct scene *scene, bool epochs)
{
	int wrong = 0;

	for (int i = 0; i < scene->claims; i++) {
		const struct claim *claim = &scene->claim[i];
		struct query query = query_of(claim);
		struct component got;

		if (epochs && i % 2)
			resolver_epoch(scene->resolver);
		resolver_resolve(scene->resolver, &query, &got);
		if (is_right(claim, &got))
			continue;
		if (wrong++ < 20)
			print_error("%s %s at %jx (register %jx): got %s %s %s "
				    "%s, start +%jd, size %ju\n",
				    claim->kind, claim->name,
				    (uintmax_t)claim->addr,
				    (uintmax_t)claim->base, got.kind, got.name,
				    got.how, confidence_name(got.confidence),
				    (intmax_t)(got.start - claim->start),
				    (uintmax_t)got.size);
	}
	return wrong;
}

static void test_claims(void **state)
{
	assert_int_equal(check(*state, true), 0);
	assert_int_equal(check(*state, false), 0);
}

static void test_found(void **state)
{
	struct scene *scene = *state;
	struct runtime_info info;
	unsigned count = 0;

	while (resolver_found(scene->resolver, &info))
		if (strcmp(info.name, "c++") != 0) {
			count++;
			assert_string_equal(info.reason, "");
			assert_non_null(info.module);
			assert_true(info.tells & TELLS_CLASSES);
			assert_int_not_equal(info.version[0], '\0');
		}
	assert_int_equal(count, 1);
}

/* The objects that are claimed, by their start. */
struct list {
	struct table objects; /* of the first claim of each */
	unsigned found, twice;
};

static int note(void *context, const struct component *object)
{
	struct list *list = context;
	struct claim *claim = table_get(&list->objects, object->start);

	if (!claim || strcmp(claim->name, object->name) != 0)
		return 0;
	if (!claim->confidence)
		list->twice++;
	else
		list->found++;
	claim->confidence = 0;
	return 0;
}

/* A scan finds every object that is claimed, once. */
static void test_objects(void **state)
{
	struct scene *scene = *state;
	struct list list = { 0 };

	for (int i = 0; i < scene->claims; i++)
		if (!strcmp(scene->claim[i].kind, "object"))
			assert_int_equal(table_put(&list.objects,
						   scene->claim[i].start,
						   &scene->claim[i]),
					 0);
	for (size_t i = 0; i < scene->target.maps->count; i++) {
		const struct mapping *m = &scene->target.maps->mapping[i];

		if (!(m->prot & PROT_WRITE) || m->path[0] == '[')
			if (strcmp(m->path, "[heap]") != 0)
				continue;
		assert_int_equal(resolver_objects(scene->resolver, m->start,
						  m->end, "*", note, &list),
				 0);
	}
	assert_int_equal(list.found, list.objects.count);
	assert_int_equal(list.twice, 0);
	table_done(&list.objects);
}

enum { MAX_NAMES = 64 };

/* Names of the claims; a seen one becomes NULL. */
struct names {
	const char *name[MAX_NAMES];
	size_t count;
	bool foreign;
};

static void add_name(struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (!strcmp(names->name[i], name))
			return;
	assert_true(names->count < MAX_NAMES);
	names->name[names->count++] = name;
}

static int strike(void *context, const char *name)
{
	struct names *names = context;

	for (size_t i = 0; i < names->count; i++)
		if (names->name[i] && !strcmp(names->name[i], name))
			names->name[i] = NULL;
	names->foreign |= !strcmp(name, "Unicorn");
	return 0;
}

static void test_classes(void **state)
{
	struct scene *scene = *state;
	struct names names = { 0 };

	for (int i = 0; i < scene->claims; i++)
		if (!strcmp(scene->claim[i].kind, "object"))
			add_name(&names, scene->claim[i].name);
	assert_int_equal(resolver_classes(scene->resolver, strike, &names), 0);
	assert_false(names.foreign);
	for (size_t i = 0; i < names.count; i++)
		if (names.name[i])
			fail_msg("%s is not among the classes", names.name[i]);
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

static int ignore_name(void *context, const char *name)
{
	*(size_t *)context += strlen(name);
	return 0;
}

static void test_hostile(void **state)
{
	struct scene *scene = *state;
	struct noise noise = { scene->target.world.memory, 0x1234567 };
	struct world world = scene->target.world;
	_cleanup_(resolver_freep) struct resolver *resolver = NULL;
	size_t bytes = 0;

	/* What open() reads is believed; what it says later is not. */
	world.memory = (struct memory){ &noise, read_noise, NULL };
	assert_int_equal(resolver_new(&world, &resolver), 0);
	for (int i = 0; i < 4 * scene->claims; i++) {
		const struct claim *claim = &scene->claim[i % scene->claims];
		struct query query = query_of(claim);
		struct component got;

		resolver_epoch(resolver);
		query.addr += roll(&noise.seed) % 128;
		resolver_resolve(resolver, &query, &got);
		assert_non_null(got.kind);
		assert_non_null(memchr(got.name, '\0', sizeof(got.name)));
		assert_non_null(memchr(got.member, '\0', sizeof(got.member)));
	}
	assert_int_equal(resolver_objects(resolver, scene->claim[0].start,
					  scene->claim[0].start + (1 << 22),
					  "*", ignore, &bytes),
			 0);
	assert_int_equal(resolver_classes(resolver, ignore_name, &bytes), 0);
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test(test_claims),
			cmocka_unit_test(test_found),
			cmocka_unit_test(test_objects),
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
		failed +=
			cmocka_run_group_tests_name(argv[i], group, NULL, NULL);
	}
	return failed || argc < 2;
}
