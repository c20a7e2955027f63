/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/hotspot.h"

enum { MAX_FLAGS = 8192, MAX_FLAG = 48, MAX_HEAD = 256 };

/* -XX: flags that decide how objects look. */
struct flags {
	uint64_t oops, classes, compact, alignment;
	uint64_t serial, parallel, g1, z, shenandoah;
};

static const struct {
	const char *name;
	size_t at;
	size_t size;
} wanted[] = {
	{ "UseCompressedOops", offsetof(struct flags, oops), 1 },
	{ "UseCompressedClassPointers", offsetof(struct flags, classes), 1 },
	{ "UseCompactObjectHeaders", offsetof(struct flags, compact), 1 },
	{ "ObjectAlignmentInBytes", offsetof(struct flags, alignment), 4 },
	{ "UseSerialGC", offsetof(struct flags, serial), 1 },
	{ "UseParallelGC", offsetof(struct flags, parallel), 1 },
	{ "UseG1GC", offsetof(struct flags, g1), 1 },
	{ "UseZGC", offsetof(struct flags, z), 1 },
	{ "UseShenandoahGC", offsetof(struct flags, shenandoah), 1 },
};

bool hotspot_text(struct hotspot *hotspot, uint64_t addr, char *text,
		  size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (pages_read(hotspot->pages, addr + i, &text[i], 1) < 0)
			return false;
		if (!text[i])
			return true;
	}
	return false;
}

static void read_flag(struct hotspot *hotspot, uint64_t flag, struct flags *ret)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t name, addr, value = 0;
	char text[MAX_FLAG];

	if (!hotspot_word(hotspot, flag + at->flag_name, &name) || !name ||
	    !hotspot_text(hotspot, name, text, sizeof(text)))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!strcmp(text, wanted[i].name) &&
		    hotspot_word(hotspot, flag + at->flag_addr, &addr) &&
		    pages_read(hotspot->pages, addr, &value, wanted[i].size) ==
			    0)
			memcpy((char *)ret + wanted[i].at, &value,
			       sizeof(value));
}

static int read_flags(struct hotspot *hotspot, struct flags *ret)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t flags, count;

	if (at->flags < 0 || at->flags_count < 0 || at->flag_size < 16 ||
	    at->flag_name < 0 || at->flag_addr < 0 ||
	    !hotspot_word(hotspot, at->flags, &flags) ||
	    !hotspot_word(hotspot, at->flags_count, &count))
		return -EBADMSG;
	for (uint64_t i = 0; i < min_u64(count, MAX_FLAGS); i++)
		read_flag(hotspot, flags + i * at->flag_size, ret);
	return 0;
}

static enum hotspot_collector collector_of(const struct flags *flags)
{
	if (flags->g1)
		return COLLECTOR_G1;
	if (flags->serial)
		return COLLECTOR_SERIAL;
	if (flags->parallel)
		return COLLECTOR_PARALLEL;
	if (flags->z)
		return COLLECTOR_Z;
	return flags->shenandoah ? COLLECTOR_SHENANDOAH : COLLECTOR_OTHER;
}

static int read_headers(struct hotspot *hotspot, const struct flags *flags)
{
	const struct hotspot_layout *at = &hotspot->at;

	hotspot->compressed_oops = flags->oops;
	hotspot->compressed_classes = flags->classes || flags->compact;
	hotspot->compact = flags->compact;
	hotspot->alignment = flags->alignment ? (uint32_t)flags->alignment : 8;
	if (hotspot->alignment & (hotspot->alignment - 1) ||
	    hotspot->alignment < 8 || hotspot->alignment > 256)
		return -EBADMSG;
	hotspot->header = 16;
	if (hotspot->compressed_classes)
		hotspot->header = hotspot->compact ? 8 : 12;
	hotspot->length = hotspot->header;
	hotspot->mark_bits = 42;
	if (at->hash_shift > 0 && at->hash_bits > 0)
		hotspot->mark_bits = (unsigned)(at->hash_shift + at->hash_bits);
	if (hotspot->mark_bits > 63 ||
	    (hotspot->compact &&
	     (at->klass_shift < 32 || at->klass_shift > 62)))
		return -EBADMSG;
	return 0;
}

static int read_narrow(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint32_t shift;

	if (!hotspot->compressed_classes)
		return 0;
	if (at->narrow_base < 0 || at->narrow_shift < 0 ||
	    !hotspot_word(hotspot, at->narrow_base, &hotspot->narrow_base) ||
	    !hotspot_int(hotspot, at->narrow_shift, &shift) || shift > 16)
		return -EBADMSG;
	hotspot->narrow_shift = shift;
	return 0;
}

/* Where java.lang.Class has its fields is only known when it is loaded. */
static int read_mirror(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;

	if (at->mirror_klass < 0 || at->mirror_size < 0 ||
	    !hotspot_int(hotspot, at->mirror_klass, &hotspot->mirror_klass) ||
	    !hotspot_int(hotspot, at->mirror_size, &hotspot->mirror_size))
		return -EBADMSG;
	if (!hotspot->mirror_klass || !hotspot->mirror_size)
		return -EAGAIN;
	return hotspot->mirror_klass < 4096 && hotspot->mirror_size < 4096
		       ? 0
		       : -EBADMSG;
}

static int read_regions(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint32_t shift;

	if (hotspot->collector != COLLECTOR_G1)
		return 0;
	if (at->g1_manager < 0 || at->g1_regions < 0 || at->g1_base < 0 ||
	    at->g1_shift < 0 || at->g1_bottom < 0 || at->g1_top < 0 ||
	    at->g1_end < 0 || at->g1_type < 0 ||
	    !hotspot_int(hotspot, at->g1_shift, &shift) || shift < 12 ||
	    shift > 40)
		return -EBADMSG;
	hotspot->region_shift = shift;
	return hotspot_word(hotspot,
			    hotspot->heap + at->g1_manager + at->g1_regions +
				    at->g1_base,
			    &hotspot->regions)
		       ? 0
		       : -EBADMSG;
}

static int read_heap(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t reserved = hotspot->heap + at->reserved, words;

	if (at->reserved < 0 || at->region_start < 0 || at->region_words < 0 ||
	    !hotspot_word(hotspot, reserved + at->region_start,
			  &hotspot->start) ||
	    !hotspot_word(hotspot, reserved + at->region_words, &words))
		return -EBADMSG;
	hotspot->end = hotspot->start + words * 8;
	return words < UINT64_C(1) << 44 && hotspot->end >= hotspot->start
		       ? read_regions(hotspot)
		       : -EBADMSG;
}

/* As much of a Klass as is read of each. */
static int measure_klass(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;
	int64_t most = 0;
	const int64_t used[] = { at->klass_layout, at->klass_name,
				 at->klass_supers, at->klass_super };

	for (size_t i = 0; i < ARRAY_SIZE(used); i++) {
		if (used[i] < 0 || used[i] > MAX_HEAD - 8)
			return -EBADMSG;
		if (used[i] > most)
			most = used[i];
	}
	hotspot->klass_head = (uint32_t)most + 8;
	return at->symbol_length < 0 || at->symbol_body < 0 ? -EBADMSG : 0;
}

/* A variable of libjvm.so; 0: there is none. */
static uint64_t variable(struct hotspot *hotspot, int64_t at)
{
	uint64_t value;

	return at >= 0 && hotspot_word(hotspot, (uint64_t)at, &value) ? value
								      : 0;
}

static void read_code(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;

	hotspot->code_low = variable(hotspot, at->code_low);
	hotspot->code_high = variable(hotspot, at->code_high);
	hotspot->shared = variable(hotspot, at->shared_base);
	hotspot->shared_end = variable(hotspot, at->shared_top);
	hotspot->entry_return = variable(hotspot, at->entry_return);
}

/* From 20 on no byte of a number is 0 (unsigned5.hpp). */
static void read_version(struct hotspot *hotspot)
{
	uint64_t text = variable(hotspot, hotspot->at.version);
	char version[64];

	if (text && hotspot_text(hotspot, text, version, sizeof(version)))
		hotspot->unsigned5 = atoi(version) >= 20;
}

void hotspot_find_interpreter(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t queue;
	uint32_t size;

	if (hotspot->interpreter || at->interpreter < 0 || at->stubs < 0 ||
	    at->stubs_size < 0 ||
	    !hotspot_word(hotspot, at->interpreter, &queue) || !queue ||
	    !hotspot_word(hotspot, queue + at->stubs, &hotspot->interpreter) ||
	    !hotspot_int(hotspot, queue + at->stubs_size, &size))
		return;
	hotspot->interpreter_end = hotspot->interpreter + size;
}

/* Of all that is needed the last to come is java.lang.Object. */
static int read_machine(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;
	struct flags flags = { 0 };
	int r;

	if (at->heap < 0 || at->object_class < 0)
		return -EBADMSG;
	if (!hotspot_word(hotspot, at->heap, &hotspot->heap) ||
	    !hotspot_word(hotspot, at->object_class, &hotspot->object))
		return -EBADMSG;
	if (!hotspot->heap || !hotspot->object)
		return -EAGAIN;
	r = read_mirror(hotspot);
	if (r == 0)
		r = read_flags(hotspot, &flags);
	if (r == 0)
		r = read_headers(hotspot, &flags);
	if (r == 0)
		r = read_narrow(hotspot);
	hotspot->collector = collector_of(&flags);
	if (r == 0)
		r = read_heap(hotspot);
	if (r == 0)
		r = measure_klass(hotspot);
	hotspot_find_interpreter(hotspot);
	read_code(hotspot);
	read_version(hotspot);
	return r;
}

int hotspot_open(struct hotspot *hotspot)
{
	int r = read_machine(hotspot);
	struct klass *object;

	if (r == 0) {
		hotspot->phase = PHASE_READY;
		object = hotspot_klass(hotspot, hotspot->object);
		if (!object || strcmp(object->name, "java.lang.Object") != 0)
			r = -EBADMSG;
	}
	if (r < 0 && r != -EAGAIN)
		hotspot->phase = PHASE_REFUSED;
	return r;
}
