/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage: test_symbols TARGET: a build of tests/targets/component_zoo.cc, with
 * symbols.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "tests/unit/component_target.h"
#include "tracer/process/demangle.h"
#include "tracer/process/elf.h"

enum { MAX_CLAIMS = 128, MUTATIONS = 400, MAX_FILE = 1 << 22 };

static const char *zoo;

static int set_up(void **state)
{
	struct target *target = malloc(sizeof(*target));
	struct claim claim[MAX_CLAIMS];

	assert_non_null(target);
	assert_true(target_start(target, zoo, claim, MAX_CLAIMS) > 0);
	*state = target;
	return 0;
}

static int tear_down(void **state)
{
	target_stop(*state);
	free(*state);
	return 0;
}

static void test_demangle(void **state)
{
	static const struct {
		const char *name, *full, *brief;
	} cases[] = {
		{ "_ZN3zoo7counterE", "zoo::counter", "zoo::counter" },
		{ "_ZN3zoo4Lion4feedEi", "zoo::Lion::feed(int)",
		  "zoo::Lion::feed" },
		{ "N3zoo4LionE", "zoo::Lion", "zoo::Lion" },
		{ "7Unicorn", "Unicorn", "Unicorn" },
		{ "St13runtime_error", "std::runtime_error",
		  "std::runtime_error" },
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write",
		  "core::fmt::write" },
		{ "i", NULL, NULL },
		{ "main", NULL, NULL },
		{ "", NULL, NULL },
		{ "NE", NULL, NULL },
		{ "N", NULL, NULL },
		{ "Z", NULL, NULL },
		{ "_Z", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(freep) char *full = demangle(cases[i].name);
		_cleanup_(freep) char *brief = demangle_short(cases[i].name);

		if (!cases[i].full) {
			assert_null(full);
			assert_null(brief);
			continue;
		}
		assert_non_null(full);
		assert_non_null(brief);
		assert_string_equal(full, cases[i].full);
		assert_string_equal(brief, cases[i].brief);
	}
}

/*
 * f<a, c<a, a>, c<c<a, a>, c<a, a> >, ...>: each argument doubles the one
 * before.  Substitutions count f, a, and two for each c.
 */
static char *growing(int steps)
{
	static const char id[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[512] = "_Z1fI1a";
	size_t at = strlen(name);

	for (int i = 0; i < steps; i++)
		at += snprintf(name + at, sizeof(name) - at, "1cIS%c_S%c_E",
			       id[2 * i], id[2 * i]);
	snprintf(name + at, sizeof(name) - at, "Evv");
	return demangle(name);
}

static void test_demangle_growth(void **state)
{
	_cleanup_(freep) char *small = growing(2);
	char deep[3000] = "_Z1f";

	assert_non_null(small);
	assert_string_equal(small,
			    "void f<a, c<a, a>, c<c<a, a>, c<a, a> > >()");
	assert_null(growing(17));
	memset(deep + 4, 'P', sizeof(deep) - 6);
	strcpy(deep + sizeof(deep) - 2, "i");
	assert_null(demangle(deep));
}

static void check_named(struct target *target, const char *library,
			const char *name, const char *mangled)
{
	struct symbol symbol = { 0 }, at = { 0 };

	assert_int_equal(
		symbols_named(target->symbols, library, name, &symbol, 1), 1);
	assert_string_equal(symbol.name, mangled);
	assert_true(symbol.size > 0);
	assert_int_equal(
		symbols_at(target->symbols, symbol.addr + symbol.size - 1, &at),
		0);
	assert_int_equal(at.addr, symbol.addr);
	assert_ptr_equal(symbols_module(target->symbols, symbol.addr),
			 symbol.module);
}

static void test_named(void **state)
{
	struct target *target = *state;
	struct symbol symbol;

	check_named(target, NULL, "_ZN3zoo7counterE", "_ZN3zoo7counterE");
	check_named(target, NULL, "zoo::counter", "_ZN3zoo7counterE");
	check_named(target, NULL, "vtable for zoo::Lion", "_ZTVN3zoo4LionE");
	check_named(target, NULL, "zoo::Lion::legs", "_ZNK3zoo4Lion4legsEv");
	check_named(target, NULL, "zoo::Lion::legs() const",
		    "_ZNK3zoo4Lion4legsEv");
	check_named(target, "libc", "strtol", "strtol");
	check_named(target, "libc.so.6", "strtol", "strtol");
	assert_int_equal(symbols_named(target->symbols, "libstdc++", "strtol",
				       &symbol, 1),
			 0);
	assert_int_equal(
		symbols_named(target->symbols, "lib", "strtol", &symbol, 1), 0);
	assert_int_equal(
		symbols_named(target->symbols, NULL, "zoo::conter", &symbol, 1),
		0);
}

static void test_near(void **state)
{
	struct target *target = *state;
	struct symbol symbol[3];

	assert_true(symbols_near(target->symbols, "zoo::conter", symbol, 3) >
		    0);
	assert_string_equal(symbol[0].name, "_ZN3zoo7counterE");
	assert_int_equal(
		symbols_near(target->symbols, "qqqqqqqqqqqqqq", symbol, 3), 0);
}

static int count(void *context, const struct symbol *symbol)
{
	assert_memory_equal(symbol->name, "_ZTVN3zoo", 9);
	++*(int *)context;
	return 0;
}

static void test_each(void **state)
{
	struct target *target = *state;
	int vtables = 0;

	assert_int_equal(
		symbols_each(target->symbols, "_ZTVN3zoo", count, &vtables), 0);
	assert_true(vtables >= 6);
}

/* Bounds from the file, checked against the map. */
static void test_modules(void **state)
{
	struct target *target = *state;
	const struct module *const *module;
	size_t modules = symbols_modules(target->symbols, &module);
	uint64_t end = 0;
	bool libc = false, vdso = false;

	assert_true(modules >= 4);
	for (size_t i = 0; i < modules; i++) {
		const struct module *m = module[i];
		const struct mapping *text;

		assert_true(m->start >= end && m->start < m->end);
		end = m->end;
		assert_non_null(maps_find(target->maps, m->start));
		assert_non_null(maps_find(target->maps, m->end - 1));
		text = maps_find(target->maps, m->text_start);
		assert_non_null(text);
		assert_true(text->prot & PROT_EXEC);
		assert_true(m->eh_frame_hdr > m->start &&
			    m->eh_frame_hdr < m->end);
		libc |= !strcmp(m->name, "libc.so.6");
		vdso |= !strcmp(m->name, "vdso");
	}
	assert_true(libc && vdso);
}

/* The same map again changes nothing; a smaller one is told. */
static void test_update(void **state)
{
	struct target *target = *state;
	unsigned before = symbols_generation(target->symbols);
	struct maps none = { 0 };
	struct symbol symbol, again;

	assert_int_equal(symbols_named(target->symbols, NULL, "zoo::counter",
				       &symbol, 1),
			 1);
	assert_int_equal(symbols_update(target->symbols, target->maps), 0);
	assert_int_equal(symbols_generation(target->symbols), before);
	assert_int_equal(symbols_update(target->symbols, &none), 0);
	assert_int_equal(symbols_update(target->symbols, &none), 0);
	assert_int_equal(symbols_generation(target->symbols), before + 1);
	assert_null(symbols_module(target->symbols, symbol.addr));
	assert_int_equal(symbols_update(target->symbols, target->maps), 0);
	assert_int_equal(symbols_generation(target->symbols), before + 2);
	assert_int_equal(
		symbols_named(target->symbols, NULL, "zoo::counter", &again, 1),
		1);
	assert_ptr_equal(again.name, symbol.name);
	assert_ptr_equal(again.module, symbol.module);
}

/* Our mprotect splits mappings: the modules stay what they were. */
static void test_split(void **state)
{
	struct target *target = *state;
	const struct maps *maps = target->maps;
	struct mapping *pieces = calloc(maps->count, 2 * sizeof(*pieces));
	struct maps split = { pieces, 0 };
	unsigned before = symbols_generation(target->symbols);

	assert_non_null(pieces);
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->mapping[i];

		pieces[split.count++] = *m;
		if (m->end - m->start < 2 * PAGE)
			continue;
		pieces[split.count - 1].end = m->start + PAGE;
		pieces[split.count] = *m;
		pieces[split.count].start += PAGE;
		if (m->inode)
			pieces[split.count].offset += PAGE;
		split.count++;
	}
	assert_true(split.count > maps->count);
	assert_int_equal(symbols_update(target->symbols, &split), 0);
	assert_int_equal(symbols_generation(target->symbols), before);
	free(pieces);
}

static uint64_t roll(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* What a file says may be wrong, but must not lead out of it. */
static void use(int fd)
{
	struct elf_table table = { 0 };
	struct elf_layout layout;
	size_t length = 0;

	if (elf_layout(fd, &layout) == 0) {
		assert_true(layout.loads > 0 && layout.loads <= ELF_LOADS);
		assert_true(layout.start < layout.end);
	}
	if (elf_table_read(&table, fd) == 0) {
		elf_table_sort(&table);
		for (size_t i = 0; i < table.count; i++) {
			const struct elf_entry *entry = &table.entry[i];

			length += strlen(entry->name);
			elf_table_at(&table, entry->addr + entry->size);
		}
		assert_true(length >= table.count);
	}
	elf_table_done(&table);
}

/* Headers and tables are at the ends of a file: hit them more often. */
static void mutate(uint8_t *bytes, size_t size, uint64_t *seed)
{
	unsigned hits = 1 + roll(seed) % 8;

	while (hits--) {
		size_t at = roll(seed);

		if (at % 3 == 0)
			at = roll(seed) % min_u64(size, 1024);
		else if (at % 3 == 1)
			at = size - 1 - roll(seed) % min_u64(size, 4096);
		else
			at = roll(seed) % size;
		bytes[at] = roll(seed) % 4 ? roll(seed) : 0xff;
	}
}

static void test_mutations(void **state)
{
	_cleanup_(closep) int fd = open(zoo, O_RDONLY | O_CLOEXEC);
	_cleanup_(freep) uint8_t *whole = malloc(MAX_FILE);
	_cleanup_(freep) uint8_t *bytes = malloc(MAX_FILE);
	uint64_t seed = 88172645463325252;
	ssize_t size;

	assert_true(fd >= 0 && whole && bytes);
	size = read(fd, whole, MAX_FILE);
	assert_true(size > 4096 && size < MAX_FILE);
	for (int i = 0; i < MUTATIONS; i++) {
		_cleanup_(closep) int copy = memfd_create("elf", MFD_CLOEXEC);
		/* The first is whole, each 16th is cut short. */
		size_t n = i % 16 == 15 ? roll(&seed) % size : (size_t)size;

		memcpy(bytes, whole, size);
		if (i)
			mutate(bytes, size, &seed);
		assert_int_equal(write(copy, bytes, n), n);
		use(copy);
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_demangle_growth),
		cmocka_unit_test_setup_teardown(test_named, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_near, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_each, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_modules, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_update, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_split, set_up, tear_down),
		cmocka_unit_test(test_mutations),
	};

	if (argc != 2)
		return 2;
	zoo = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
