/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "unwinder/module.h"

/* Pointer encodings of the LSB core specification, as far as linkers go. */
enum {
	ENC_UDATA4 = 0x03,
	ENC_DATAREL_SDATA4 = 0x3b,
	ENC_PCREL_SDATA4 = 0x1b,
};

/* The fixed head of .eh_frame_hdr that every linker writes. */
struct header {
	uint8_t version;
	uint8_t frame_encoding;
	uint8_t count_encoding;
	uint8_t table_encoding;
	int32_t frame;
	uint32_t count;
};

struct entry {
	int32_t text; /* both relative to .eh_frame_hdr */
	int32_t fde;
};

enum {
	ENTRIES_MAX = 1 << 22,
	ENTRIES_AT_ONCE = 4096,
	FDE_SIZE_MAX = 1 << 24,
};

void modules_done(struct modules *modules)
{
	free(modules->list);
	*modules = (struct modules){ 0 };
}

static int by_start(const void *a, const void *b)
{
	const struct module *x = a, *y = b;

	return (x->extent.start > y->extent.start) -
	       (x->extent.start < y->extent.start);
}

int modules_set(struct modules *modules, const struct unwinder_module *list,
		size_t count)
{
	_cleanup_(freep) struct module *copy = NULL;

	copy = calloc(count + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		copy[i].extent = list[i];
	qsort(copy, count, sizeof(*copy), by_start);

	modules_done(modules);
	modules->list = take(copy);
	modules->count = count;
	return 0;
}

struct module *modules_find(const struct modules *modules, uint64_t addr)
{
	size_t low = 0, high = modules->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct module *module = &modules->list[middle];

		if (addr < module->extent.start)
			high = middle;
		else if (addr >= module->extent.end)
			low = middle + 1;
		else
			return module;
	}
	return NULL;
}

/* An unreadable table is as good as none; a target that is gone is not. */
static int missing(int r)
{
	return r == -EFAULT ? 0 : r;
}

static bool inside(const struct module *module, uint64_t addr, uint64_t size)
{
	const struct unwinder_module *extent = &module->extent;

	return addr >= extent->start && addr <= extent->end &&
	       size <= extent->end - addr;
}

/*
 * No header tells where .eh_frame ends, so its last FDE is looked for.  The
 * end matters because the pages behind it may change (see module_is_fixed).
 */
static int last_fde(struct module *module, const struct memory *memory,
		    uint64_t *ret)
{
	_cleanup_(freep) struct entry *entries = NULL;
	int32_t last = INT32_MIN;

	entries = malloc(ENTRIES_AT_ONCE * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (uint64_t i = 0; i < module->entries;) {
		uint64_t n = min_u64(module->entries - i, ENTRIES_AT_ONCE);
		int r;

		r = memory_read(memory, module->table + i * sizeof(*entries),
				entries, n * sizeof(*entries));
		if (r < 0)
			return r;
		for (uint64_t j = 0; j < n; j++) {
			if (entries[j].fde > last)
				last = entries[j].fde;
		}
		i += n;
	}
	*ret = module->extent.eh_frame_hdr + (int64_t)last;
	return 0;
}

static int find_extent(struct module *module, const struct memory *memory,
		       uint64_t frame)
{
	uint64_t hdr = module->extent.eh_frame_hdr, fde;
	uint32_t length;
	int r;

	r = last_fde(module, memory, &fde);
	if (r < 0)
		return missing(r);
	if (!inside(module, frame, 4) || !inside(module, fde, 4))
		return 0;
	r = memory_read(memory, fde, &length, sizeof(length));
	if (r < 0)
		return missing(r);
	if (length > FDE_SIZE_MAX || !inside(module, fde + 4, length))
		return 0;

	module->tables_start = frame < hdr ? frame : hdr;
	module->tables_end =
		max_u64(module->table + module->entries * 8, fde + 4 + length);
	module->state = MODULE_TABLES;
	return 0;
}

int module_load(struct module *module, const struct memory *memory)
{
	const struct unwinder_module *extent = &module->extent;
	struct header header;
	uint64_t room;
	int r;

	if (module->state != MODULE_UNREAD)
		return 0;
	module->state = MODULE_WITHOUT;
	if (extent->eh_frame_hdr_size < sizeof(header) ||
	    !inside(module, extent->eh_frame_hdr, extent->eh_frame_hdr_size))
		return 0;
	r = memory_read(memory, extent->eh_frame_hdr, &header, sizeof(header));
	if (r < 0)
		return missing(r);
	if (header.version != 1 || header.frame_encoding != ENC_PCREL_SDATA4 ||
	    header.count_encoding != ENC_UDATA4 ||
	    header.table_encoding != ENC_DATAREL_SDATA4)
		return 0;

	room = (extent->eh_frame_hdr_size - sizeof(header)) /
	       sizeof(struct entry);
	module->entries = min_u64(min_u64(header.count, room), ENTRIES_MAX);
	module->table = extent->eh_frame_hdr + sizeof(header);
	if (!module->entries)
		return 0;
	/* pc-relative to the field itself, four bytes into the header */
	return find_extent(module, memory,
			   extent->eh_frame_hdr + 4 + (int64_t)header.frame);
}

/*
 * A module's extent holds its data and .bss too, where a signal stack or a
 * coroutine's may lie: only text and unwind tables do not change.
 */
bool module_is_fixed(const struct module *module, uint64_t addr)
{
	const struct unwinder_module *extent = &module->extent;

	if (addr >= extent->text_start && addr < extent->text_end)
		return true;
	return module->state == MODULE_TABLES && addr >= module->tables_start &&
	       addr < module->tables_end;
}
