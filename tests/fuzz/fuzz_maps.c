/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as /proc/PID/maps. */
#include <errno.h>

#include "tests/fuzz/fuzz.h"
#include "tracer/process/maps.h"

static void check(const struct maps *maps)
{
	uint64_t end = 0;

	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->mapping[i];

		expect(m->start < m->end && m->start >= end);
		expect(m->start % PAGE == 0 && m->end % PAGE == 0);
		expect(m->path);
		expect(maps_find(maps, m->start) == m);
		expect(maps_find(maps, m->end - 1) == m);
		expect(m->start == end || !maps_find(maps, m->start - 1));
		expect(m->start == end || maps_above(maps, m->start - 1) == m);
		end = m->end;
	}
	expect(!maps_above(maps, end));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(maps_freep) struct maps *maps = NULL;
	_cleanup_(fclosep) FILE *file = NULL;
	struct error err = { 0 };
	int r;

	if (!size)
		return 0;
	file = fmemopen((void *)(uintptr_t)data, size, "r");
	expect(file);
	r = maps_parse(file, &maps, &err);
	expect(r == 0 || r == -EBADMSG);
	expect(err.number == r && (r < 0) == (err.text[0] != '\0'));
	expect((r == 0) == (maps != NULL));
	if (maps)
		check(maps);
	return 0;
}
