/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file with debug information. */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/fuzz/fuzz.h"
#include "tracer/process/lines.h"
#include "tracer/process/member.h"

enum { ADDRESSES = 0x4000, PATH = 160 };

/* Of a virtual base, wherever its object is said to lie. */
static int read_any(void *context, uint64_t addr, void *buffer, size_t size)
{
	memset(buffer, (int)(addr / 8 % 3) * 16, size);
	return 0;
}

static void check_type(struct type *type, int depth)
{
	static const char *const path[] = { "age", "limits[3].max", "[1].min",
					    "value.bytes[2]", "content" };
	struct memory memory = { .read = read_any };
	struct subject subject = { &memory, 4096 };
	struct extent extent[4];
	char text[PATH];

	for (uint64_t at = 0; at < min_u64(type->size + 2, 256); at++) {
		if (!member_path(type, at, &subject, text, sizeof(text)))
			continue;
		expect(memchr(text, '\0', sizeof(text)));
	}
	member_path(type, UINT64_MAX, &subject, text, sizeof(text));
	for (size_t i = 0; i < ARRAY_SIZE(path); i++)
		member_find(type, path[i], &subject, extent,
			    ARRAY_SIZE(extent));
	if (!type_load(type) || depth == 3)
		return;
	for (unsigned i = 0; i < type->fields && i < 16; i++) {
		struct type *target = type_target(type->field[i].type);

		if (target)
			check_type(target, depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const name[] = { "zoo::Animal", "zoo::Mammal",
					    "zoo::Cage<const char*>",
					    "f()::L" };
	int file = memfd_create("fuzz", MFD_CLOEXEC);
	_cleanup_(types_freep) struct types *types = NULL;
	_cleanup_(lines_freep) struct lines *lines = NULL;
	struct variable variable;

	expect(file >= 0 && pwrite(file, data, size, 0) == (ssize_t)size);
	lines = lines_open(file);
	expect(lines);
	if (!lines_dwarf(lines)) {
		lines_freep(&lines);
		lines = NULL;
		return 0;
	}
	types = types_new(lines_dwarf(lines));
	expect(types);
	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		struct type *type = types_class(types, name[i]);
		_cleanup_(freep) char *again = NULL;

		if (!type)
			continue;
		again = type_qualified(type);
		check_type(type, 0);
		type_argument(type, 0);
	}
	for (uint64_t addr = 0; addr < ADDRESSES; addr += 4)
		if (types_variable(types, addr, false, true, &variable))
			check_type(variable.type, 0);
	types_variable(types, 0, true, false, &variable);
	return 0;
}
