/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/hotspot.h"

enum {
	FREE = 0xff,	    /* of the segment map: nothing lies there */
	MAX_BACK = 1 << 16, /* steps from a segment to its block's first */
	MAX_BLOB = 1 << 28,
};

static void read_heap(struct hotspot *hotspot, uint64_t heap)
{
	const struct hotspot_layout *at = &hotspot->at;
	struct code_heap *code = &hotspot->code[hotspot->heaps];
	uint32_t shift;

	if (!hotspot_word(hotspot, heap + at->heap_memory + at->virtual_low,
			  &code->low) ||
	    !hotspot_word(hotspot, heap + at->heap_memory + at->virtual_high,
			  &code->high) ||
	    !hotspot_word(hotspot, heap + at->heap_segments + at->virtual_low,
			  &code->segments) ||
	    !hotspot_int(hotspot, heap + at->heap_shift, &shift) || shift > 16)
		return;
	code->shift = shift;
	hotspot->heaps++;
}

/* They grow while the machine runs. */
static void read_heaps(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t array, data, heap;
	uint32_t count;

	if (hotspot->heaps_epoch == hotspot->epoch)
		return;
	hotspot->heaps_epoch = hotspot->epoch;
	hotspot->heaps = 0;
	if (at->code_heaps < 0 || at->array_length < 0 || at->array_data < 0 ||
	    at->heap_memory < 0 || at->heap_segments < 0 ||
	    at->heap_shift < 0 || at->virtual_low < 0 || at->virtual_high < 0 ||
	    at->block_size < 0 ||
	    !hotspot_word(hotspot, at->code_heaps, &array) ||
	    !hotspot_int(hotspot, array + at->array_length, &count) ||
	    !hotspot_word(hotspot, array + at->array_data, &data))
		return;
	for (uint32_t i = 0; i < min_u64(count, HOTSPOT_HEAPS); i++)
		if (hotspot_word(hotspot, data + 8 * i, &heap))
			read_heap(hotspot, heap);
}

/* A byte of each segment tells how far its block's first one may be. */
static uint64_t block_of(struct hotspot *hotspot, const struct code_heap *code,
			 uint64_t addr)
{
	uint64_t segment = (addr - code->low) >> code->shift;

	for (unsigned i = 0; i < MAX_BACK; i++) {
		uint8_t back;

		if (pages_read(hotspot->pages, code->segments + segment, &back,
			       1) < 0 ||
		    back == FREE || back > segment)
			return 0;
		if (!back)
			return code->low + (segment << code->shift);
		segment -= back;
	}
	return 0;
}

bool hotspot_blob(struct hotspot *hotspot, uint64_t addr, uint64_t *start,
		  uint32_t *size)
{
	const struct hotspot_layout *at = &hotspot->at;

	if (addr < hotspot->code_low || addr >= hotspot->code_high ||
	    at->blob_size < 0 || at->blob_name < 0)
		return false;
	read_heaps(hotspot);
	for (unsigned i = 0; i < hotspot->heaps; i++) {
		const struct code_heap *code = &hotspot->code[i];
		uint64_t block;

		if (addr < code->low || addr >= code->high)
			continue;
		block = block_of(hotspot, code, addr);
		*start = block + at->block_size;
		return block && addr >= *start &&
		       hotspot_int(hotspot, *start + at->blob_size, size) &&
		       *size < MAX_BLOB && addr < *start + *size;
	}
	return false;
}

/* A compiled method, or code of the machine's own, which has a name. */
static bool blob_name(struct hotspot *hotspot, uint64_t blob, char *text,
		      size_t size)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t name, method;

	if (!hotspot_word(hotspot, blob + at->blob_name, &name) ||
	    !hotspot_text(hotspot, name, text, size))
		return false;
	if (strcmp(text, "nmethod") != 0 && strcmp(text, "native nmethod") != 0)
		return true;
	return at->code_method >= 0 &&
	       hotspot_word(hotspot, blob + at->code_method, &method) &&
	       hotspot_method(hotspot, method, text, size);
}

bool hotspot_code(struct hotspot *hotspot, uint64_t addr, struct component *ret)
{
	char name[COMPONENT_NAME];
	uint64_t start;
	uint32_t size;

	if (!hotspot_blob(hotspot, addr, &start, &size) ||
	    !blob_name(hotspot, start, name, sizeof(name)))
		return false;
	ret->kind = "code";
	ret->runtime = "hotspot";
	ret->how = "codecache";
	ret->confidence = CONFIDENCE_EXACT;
	ret->start = start;
	ret->size = size;
	component_name(ret, name);
	return true;
}
