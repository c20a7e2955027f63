/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file. */
#include <errno.h>
#include <sys/mman.h>

#include "tests/fuzz/fuzz.h"
#include "tracer/process/elf.h"

static void check_layout(const struct elf_layout *layout)
{
	uint64_t end = 0;

	expect(layout->loads > 0 && layout->loads <= ELF_LOADS);
	for (unsigned i = 0; i < layout->loads; i++) {
		const struct elf_load *load = &layout->load[i];

		expect(load->vaddr >= end && load->memsz);
		expect(load->filesz <= load->memsz);
		end = load->vaddr + load->memsz;
	}
	expect(layout->end == end && layout->start < end);
	expect(layout->text_start <= layout->text_end);
	expect(layout->text_end <= end);
	expect(layout->relro_start <= layout->relro_end);
	expect(layout->eh_frame_hdr + layout->eh_frame_hdr_size <= end);
	expect(layout->build_id_size <= ELF_BUILD_ID);
}

static void check_table(const struct elf_table *table)
{
	uint64_t addr = 0;

	for (size_t i = 0; i < table->count; i++) {
		const struct elf_entry *entry = &table->entry[i], *found;

		expect(entry->addr >= addr);
		expect(entry->name[0]);
		expect(entry->addr + entry->size >= entry->addr);
		addr = entry->addr;
		found = elf_table_at(table, addr);
		/* Of more than we look back at, none may be found. */
		expect(found || !entry->size || table->count > 128);
		if (found && found->size)
			expect(addr - found->addr < found->size);
	}
	elf_table_at(table, 0);
	elf_table_at(table, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;
	struct elf_table table = { 0 };
	struct elf_layout layout;
	int r;

	if (file < 0)
		file = memfd_create("fuzz", MFD_CLOEXEC);
	expect(ftruncate(file, 0) == 0);
	expect(pwrite(file, data, size, 0) == (ssize_t)size);
	r = elf_layout(file, &layout);
	expect(r == 0 || r == -ENOEXEC);
	if (r == 0)
		check_layout(&layout);
	r = elf_table_read(&table, file);
	expect(r == 0 || r == -ENOEXEC || r == -ENOMEM);
	elf_table_sort(&table);
	check_table(&table);
	elf_table_done(&table);
	return 0;
}
