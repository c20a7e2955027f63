/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tracer/component/registry.h"

/* Part of libc6, and used by nobody. */
#define LIBRARY "libBrokenLocale"

/* What the runtimes below were asked to do. */
static struct {
	int opened, closed, remapped, answer;
	bool refuses;
} seen;

static struct registry registry;
static struct view view;
static struct world world;
static struct maps *maps;

static int open_it(const struct view *at, void **ret)
{
	const struct module *module = view_module(at, LIBRARY);

	if (!module)
		return -ENOENT;
	if (seen.answer < 0)
		return seen.answer;
	seen.opened++;
	*ret = (void *)(uintptr_t)module;
	return 0;
}

static void close_it(void *state)
{
	seen.closed++;
}

static void about(void *state, struct runtime_info *ret)
{
	ret->module = state;
	if (seen.refuses)
		strcpy(ret->reason, "too old");
}

static void resolve(void *state, const struct query *query,
		    struct component *ret)
{
}

static void remap(void *state)
{
	seen.remapped++;
}

static int open_shy(const struct view *at, void **ret)
{
	*ret = NULL;
	return 0;
}

static void close_shy(void *state)
{
}

/* It is open in any case: an object, or a module, tells that it is there. */
static void about_shy(void *state, struct runtime_info *ret)
{
	ret->module = view_module(&view, LIBRARY);
	ret->tells = TELLS_CLASSES;
}

static const struct runtime loud = {
	.name = "c++", /* one that --runtime knows */
	.open = open_it,
	.close = close_it,
	.about = about,
	.resolve = resolve,
	.remap = remap,
};
static const struct runtime shy = {
	.name = "shy",
	.open = open_shy,
	.close = close_shy,
	.about = about_shy,
	.resolve = resolve,
};
static const struct runtime plain = {
	.name = "plain",
	.open = open_shy,
	.close = close_shy,
	.resolve = resolve,
};
static const struct runtime *const table[] = { &loud, &shy, &plain, NULL };

/* As the session does it when the map changed. */
static void look_at_map(void)
{
	struct error err = { 0 };

	maps_free(maps);
	assert_int_equal(maps_read(getpid(), &maps, &err), 0);
	assert_int_equal(symbols_update(world.symbols, maps), 0);
	world.maps = maps;
	registry_remap(&registry);
}

static int set_up(void **state)
{
	memset(&seen, 0, sizeof(seen));
	world = (struct world){ .pid = getpid() };
	view = (struct view){ .world = &world };
	assert_int_equal(symbols_new(getpid(), &world.symbols), 0);
	registry_init(&registry, table, &view);
	look_at_map();
	return 0;
}

static int tear_down(void **state)
{
	registry_done(&registry);
	symbols_free(world.symbols);
	maps_free(maps);
	maps = NULL;
	return 0;
}

static void *load(void)
{
	void *library = dlopen(LIBRARY ".so.1", RTLD_NOW);

	assert_non_null(library);
	look_at_map();
	return library;
}

static void unload(void *library)
{
	assert_int_equal(dlclose(library), 0);
	look_at_map();
}

static void test_loaded_and_gone(void **state)
{
	struct runtime_info info;
	void *library;

	world.runtimes = runtime_bit("c++");
	assert_false(registry_found(&registry, &info));
	library = load();
	assert_int_equal(seen.opened, 0); /* not before it is asked */
	assert_true(registry_found(&registry, &info));
	assert_string_equal(info.name, "c++");
	assert_non_null(strstr(info.module->path, LIBRARY));
	assert_false(registry_found(&registry, &info));
	assert_int_equal(seen.remapped, 1);
	look_at_map();
	assert_int_equal(seen.remapped, 2);
	unload(library);
	assert_int_equal(seen.closed, 1);
	assert_false(registry_found(&registry, &info));
	library = load();
	assert_true(registry_found(&registry, &info));
	unload(library);
}

static void test_not_yet(void **state)
{
	struct runtime_info info;
	void *library;

	world.runtimes = runtime_bit("c++");
	seen.answer = -EAGAIN;
	library = load();
	assert_false(registry_found(&registry, &info));
	seen.answer = 0;
	assert_false(registry_found(&registry, &info));
	look_at_map();
	assert_true(registry_found(&registry, &info));
	unload(library);
}

static void test_not_supported(void **state)
{
	struct runtime_info info;
	void *library;

	world.runtimes = runtime_bit("c++");
	seen.refuses = true;
	library = load();
	assert_true(registry_found(&registry, &info));
	assert_string_equal(info.reason, "too old");
	assert_int_equal(seen.closed, 1);
	assert_false(registry.entry[0].open);
	unload(library);
}

static void test_an_object_shows_it(void **state)
{
	struct runtime_info info;

	assert_false(registry_found(&registry, &info));
	registry_named(&registry, 1);
	assert_true(registry_found(&registry, &info));
	assert_string_equal(info.name, "shy");
	assert_null(info.module);
	look_at_map();
	assert_false(registry_found(&registry, &info));
	registry_named(&registry, 1);
	registry_named(&registry, 2); /* that is no runtime */
	assert_false(registry_found(&registry, &info));
}

static void test_module_of_an_open_one(void **state)
{
	struct runtime_info info;
	void *library;

	seen.answer = -ENOENT;
	assert_false(registry_found(&registry, &info));
	library = load();
	assert_true(registry_found(&registry, &info));
	assert_string_equal(info.name, "shy");
	assert_non_null(info.module);
	assert_false(registry_found(&registry, &info));
	unload(library);
}

static void test_chosen(void **state)
{
	struct runtime_info info;
	void *library;

	world.runtimes = runtime_bit("none");
	library = load();
	assert_false(registry_found(&registry, &info));
	assert_false(registry.entry[0].open);
	assert_true(registry.entry[2].open);
	unload(library);
	world.runtimes = runtime_bit("c++");
	library = load();
	assert_true(registry_found(&registry, &info));
	assert_false(registry.entry[1].open);
	unload(library);
}

static void test_names(void **state)
{
	unsigned all = 0;
	size_t i = 0;

	for (; runtime_name(i); i++) {
		assert_int_equal(all & runtime_bit(runtime_name(i)), 0);
		all |= runtime_bit(runtime_name(i));
	}
	assert_int_equal(all, (1u << i) - 1);
	assert_string_equal(runtime_name(i - 1), "none");
	assert_int_equal(runtime_bit("heap"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_loaded_and_gone, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_not_yet, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_not_supported, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_an_object_shows_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_module_of_an_open_one,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_chosen, set_up, tear_down),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
