/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/hotspot.h"

/*
 * Fields of a class are described by numbers: indices of its constant pool for
 * name and signature, and the offset.  Up to 20 six of 16 bits a
 * field, from 21 on a stream of UNSIGNED5, whose bytes are never 0
 * (fieldInfo.hpp and unsigned5.hpp of OpenJDK).
 */
enum {
	MAX_FIELDS = 8192,
	MAX_SUPERS = 256,
	TUPLE = 6,

	STATIC = 0x0008,
	INJECTED = 0x0400, /* by the virtual machine; in a tuple */

	/* In the stream. */
	HAS_VALUE = 1,
	IS_INJECTED = 2,
	HAS_GENERIC = 4,
	HAS_GROUP = 16,
};

/* As the class file has it, but for the offset. */
struct raw {
	uint32_t access, name, signature, offset;
	bool injected;
};

/* Of one class that is read. */
struct source {
	struct hotspot *hotspot;
	uint64_t pool;
	struct klass *klass; /* that gets them */
	bool inherited;
};

void members_done(struct members *members)
{
	for (size_t i = 0; i < members->count; i++)
		free(members->member[i].name);
	free(members->member);
	*members = (struct members){ 0 };
}

static void add(struct members *members, const char *name, uint32_t offset,
		uint8_t size)
{
	if (members->count == MAX_FIELDS)
		return;
	if (members->count == members->capacity) {
		size_t n = members->capacity ? 2 * members->capacity : 8;
		struct member *bigger =
			reallocarray(members->member, n, sizeof(*bigger));

		if (!bigger)
			return;
		members->member = bigger;
		members->capacity = n;
	}
	members->member[members->count].name = strdup(name);
	if (!members->member[members->count].name)
		return;
	members->member[members->count].offset = offset;
	members->member[members->count++].size = size;
}

static uint8_t size_of(const struct hotspot *hotspot, char signature)
{
	switch (signature) {
	case 'Z':
	case 'B':
		return 1;
	case 'C':
	case 'S':
		return 2;
	case 'I':
	case 'F':
		return 4;
	case 'J':
	case 'D':
		return 8;
	default:
		return hotspot->compressed_oops ? 4 : 8;
	}
}

/* Of an entry of the constant pool; its lowest bit may be a mark. */
static bool pool_text(const struct source *source, uint32_t index, char *text,
		      size_t size)
{
	struct hotspot *hotspot = source->hotspot;
	uint64_t symbol;

	return index < 0x10000 &&
	       hotspot_word(hotspot,
			    source->pool + hotspot->at.pool_size + 8 * index,
			    &symbol) &&
	       hotspot_symbol(hotspot, symbol & ~UINT64_C(7), text, size);
}

static bool injected_text(const struct source *source, uint32_t index,
			  char *text, size_t size)
{
	struct hotspot *hotspot = source->hotspot;
	uint64_t symbol;

	return index < 0x10000 && hotspot->at.vm_symbols >= 0 &&
	       hotspot_word(hotspot, hotspot->at.vm_symbols + 8 * index,
			    &symbol) &&
	       hotspot_symbol(hotspot, symbol, text, size);
}

static void add_raw(const struct source *source, const struct raw *raw)
{
	char name[COMPONENT_MEMBER - 16], signature[8];
	bool is_static = raw->access & STATIC;

	if (source->inherited && is_static)
		return;
	if (raw->injected) {
		if (!injected_text(source, raw->name, name, sizeof(name)) ||
		    !injected_text(source, raw->signature, signature,
				   sizeof(signature)))
			return;
	} else if (!pool_text(source, raw->name, name, sizeof(name)) ||
		   !pool_text(source, raw->signature, signature,
			      sizeof(signature))) {
		return;
	}
	add(is_static ? &source->klass->statics : &source->klass->own, name,
	    raw->offset, size_of(source->hotspot, *signature));
}

static void read_tuples(const struct source *source, uint64_t array,
			uint16_t count)
{
	for (unsigned i = 0; i < min_u64(count, MAX_FIELDS); i++) {
		uint16_t tuple[TUPLE];
		uint64_t at = array + 4 + i * sizeof(tuple);
		struct raw raw;

		if (pages_read(source->hotspot->pages, at, tuple,
			       sizeof(tuple)) < 0)
			return;
		raw = (struct raw){
			.access = tuple[0],
			.name = tuple[1],
			.signature = tuple[2],
			/* two bits tell what the rest is */
			.offset = ((uint32_t)tuple[5] << 16 | tuple[4]) >> 2,
			.injected = tuple[0] & INJECTED,
		};
		add_raw(source, &raw);
	}
}

/* UNSIGNED5: up to five digits to the base 64, the last below 192. */
static bool unsigned5(struct hotspot *hotspot, uint64_t *at, uint32_t *ret)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < 5; i++) {
		uint8_t digit;

		if (pages_read(hotspot->pages, (*at)++, &digit, 1) < 0 ||
		    !digit)
			return false;
		sum += (uint32_t)(digit - 1) << (6 * i);
		if (digit < 192)
			break;
	}
	*ret = sum;
	return true;
}

static bool stream_field(struct hotspot *hotspot, uint64_t *at, struct raw *ret)
{
	uint32_t flags, rest;

	if (!unsigned5(hotspot, at, &ret->name) ||
	    !unsigned5(hotspot, at, &ret->signature) ||
	    !unsigned5(hotspot, at, &ret->offset) ||
	    !unsigned5(hotspot, at, &ret->access) ||
	    !unsigned5(hotspot, at, &flags))
		return false;
	ret->injected = flags & IS_INJECTED;
	return (!(flags & HAS_VALUE) || unsigned5(hotspot, at, &rest)) &&
	       (!(flags & HAS_GENERIC) || unsigned5(hotspot, at, &rest)) &&
	       (!(flags & HAS_GROUP) || unsigned5(hotspot, at, &rest));
}

static void read_stream(const struct source *source, uint64_t array)
{
	uint64_t at = array + 4;
	uint32_t own, injected;
	struct raw raw;

	if (!unsigned5(source->hotspot, &at, &own) ||
	    !unsigned5(source->hotspot, &at, &injected))
		return;
	for (uint64_t i = 0; i < (uint64_t)own + injected; i++) {
		if (i == MAX_FIELDS ||
		    !stream_field(source->hotspot, &at, &raw))
			return;
		add_raw(source, &raw);
	}
}

static void read_class(const struct source *source, uint64_t klass)
{
	struct hotspot *hotspot = source->hotspot;
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t array;
	uint16_t count;

	if (at->fields >= 0 && at->fields_count >= 0) {
		if (hotspot_word(hotspot, klass + at->fields, &array) &&
		    array &&
		    hotspot_short(hotspot, klass + at->fields_count, &count))
			read_tuples(source, array, count);
	} else if (at->fields_stream >= 0 &&
		   hotspot_word(hotspot, klass + at->fields_stream, &array) &&
		   array) {
		read_stream(source, array);
	}
}

static int compare(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void sort(struct members *members)
{
	if (members->count)
		qsort(members->member, members->count, sizeof(*members->member),
		      compare);
}

/* A class and those that it extends. */
static void read_members(struct hotspot *hotspot, struct klass *klass)
{
	struct source source = { .hotspot = hotspot, .klass = klass };
	uint64_t addr = klass->addr;

	klass->members = true;
	if (klass->layout < 0 || hotspot->at.constants < 0 ||
	    hotspot->at.pool_size < 0)
		return;
	for (unsigned i = 0; addr && i < MAX_SUPERS; i++) {
		if (!hotspot_word(hotspot, addr + hotspot->at.constants,
				  &source.pool))
			break;
		source.inherited = addr != klass->addr;
		read_class(&source, addr);
		if (!hotspot_word(hotspot, addr + hotspot->at.klass_super,
				  &addr))
			break;
	}
	sort(&klass->own);
	sort(&klass->statics);
}

const struct member *hotspot_field(struct hotspot *hotspot, struct klass *klass,
				   uint32_t offset, bool is_static)
{
	const struct members *members;
	size_t low = 0, high;

	if (!klass->members)
		read_members(hotspot, klass);
	members = is_static ? &klass->statics : &klass->own;
	high = members->count;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (members->member[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || offset - members->member[low - 1].offset >=
			    members->member[low - 1].size)
		return NULL;
	return &members->member[low - 1];
}
