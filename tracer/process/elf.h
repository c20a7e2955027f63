/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * elf - what an ELF file says about itself
 *
 * Addresses are those of the file.  elf.c is the only file that knows libelf;
 * nothing of libelf stays alive after a call.  Any bytes may be in the file.
 */

#include "base/buffer.h"

enum { ELF_LOADS = 16, ELF_BUILD_ID = 64 };

struct elf_load {
	uint64_t vaddr, memsz, filesz, offset;
	bool exec;
};

struct elf_layout {
	struct elf_load load[ELF_LOADS]; /* PT_LOAD, in address order */
	unsigned loads;
	uint64_t start, end; /* first page, and last byte by p_memsz */
	uint64_t text_start, text_end;
	uint64_t relro_start, relro_end;
	uint64_t eh_frame_hdr, eh_frame_hdr_size;
	uint64_t tls_size, tls_align; /* of a thread's block; 0: none */
	uint8_t build_id[ELF_BUILD_ID];
	unsigned build_id_size;
};

/* 0, or -ENOEXEC if this is no ELF file of an x86-64 process. */
int elf_layout(int fd, struct elf_layout *ret) _must_check_;

/*
 * Append the bytes of the section called @name to @ret.  0; -ENOENT; -E2BIG:
 * more than @max; -ENOEXEC.
 */
int elf_section(int fd, const char *name, size_t max,
		struct buffer *ret) _must_check_;

struct elf_entry {
	const char *name; /* mangled, without its version */
	uint64_t addr, size;
	uint64_t limit; /* end of the section */
	uint64_t reach; /* highest end of this entry and those before */
	bool function, global, typed;
	bool thread; /* addr is an offset in each thread's block */
};

struct elf_table {
	struct elf_entry *entry; /* by address, of aliases the best first */
	size_t count;
	size_t capacity;
	struct elf_entry *thread; /* thread-local ones, likewise */
	size_t threads, thread_capacity;
	char **strings;
	size_t nstrings;
	bool symtab; /* a .symtab was seen, not only a .dynsym */
};

/* Add what .symtab and .dynsym of the file define.  Sort when all is in. */
int elf_table_read(struct elf_table *table, int fd) _must_check_;
void elf_table_sort(struct elf_table *table);
void elf_table_done(struct elf_table *table);

/* The entry that covers @addr, or NULL. */
const struct elf_entry *elf_table_at(const struct elf_table *table,
				     uint64_t addr);

/* Up to where, from its start, elf_table_at() finds @entry; its start: never.
 */
uint64_t elf_table_stretch(const struct elf_table *table,
			   const struct elf_entry *entry);
