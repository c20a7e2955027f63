/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage: test_typed TARGET...: builds of tests/targets/typed.cc and tls.cc
 * with debug information.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/unit/component_target.h"

enum { MAX_CLAIMS = 128 };

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
	assert_true(scene->claims > 0);
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
	static uint64_t registers[16];

	if (!strcmp(claim->kind, "tls"))
		return (struct query){
			.addr = claim->addr,
			.size = 4,
			.fs_base = claim->base,
		};
	/* Its owner is in some register. */
	if (!strcmp(claim->kind, "owned")) {
		registers[3] = claim->base;
		return (struct query){
			.addr = claim->addr,
			.size = 1,
			.registers = registers,
		};
	}
	return (struct query){
		.addr = claim->addr,
		.size = 1,
		.candidates = { claim->base },
		.ncandidates = claim->base ? 1 : 0,
	};
}

static bool is_expected(const struct claim *claim, const struct component *got)
{
	const char *kind =
		!strcmp(claim->kind, "owned") ? "object" : claim->kind;

	return !strcmp(got->kind, kind) && !strcmp(got->name, claim->name) &&
	       !strcmp(got->member, claim->member) &&
	       (!claim->start || got->start == claim->start) &&
	       (int)got->confidence >= claim->confidence &&
	       got->size > claim->addr - got->start;
}

static void test_claims(void **state)
{
	struct scene *scene = *state;
	int wrong = 0;

	for (int i = 0; i < scene->claims; i++) {
		const struct claim *claim = &scene->claim[i];
		struct query query = query_of(claim);
		struct component got;

		resolver_epoch(scene->resolver);
		resolver_resolve(scene->resolver, &query, &got);
		if (is_expected(claim, &got))
			continue;
		wrong++;
		print_error("%s %s %s: got %s %s %s, %s %s, start +%jd, "
			    "size %ju\n",
			    claim->kind, claim->name, claim->member, got.kind,
			    got.name, got.member, got.how,
			    confidence_name(got.confidence),
			    (intmax_t)(got.start - claim->start),
			    (uintmax_t)got.size);
	}
	assert_int_equal(wrong, 0);
}

/* Of another thread, which was seen before. */
static void test_other_thread(void **state)
{
	struct scene *scene = *state;
	const struct claim *last = &scene->claim[scene->claims - 1];
	struct query query = query_of(&scene->claim[0]);
	struct component got;

	if (strcmp(last->kind, "tls") != 0)
		return;
	resolver_resolve(scene->resolver, &query, &got);
	query.fs_base = last->base;
	resolver_resolve(scene->resolver, &query, &got);
	assert_string_equal(got.kind, "tls");
	assert_string_equal(got.name, scene->claim[0].name);
	assert_int_equal(got.confidence, CONFIDENCE_LIKELY);
	/* One that nobody has seen */
	resolver_free(scene->resolver);
	assert_int_equal(resolver_new(&scene->target.world, &scene->resolver),
			 0);
	resolver_resolve(scene->resolver, &query, &got);
	assert_string_not_equal(got.name, scene->claim[0].name);
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate_setup_teardown(
				test_claims, set_up, tear_down, argv[i]),
			cmocka_unit_test_prestate_setup_teardown(
				test_other_thread, set_up, tear_down, argv[i]),
		};

		print_message("%s\n", argv[i]);
		failed +=
			cmocka_run_group_tests_name(argv[i], tests, NULL, NULL);
	}
	return failed || argc < 2;
}
