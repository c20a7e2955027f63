/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "tracer/process/elf.h"

/* What libelf would allocate and read for a section that claims so much. */
#define MAX_SECTION (UINT64_C(1) << 30)
#define MAX_ADDRESS (UINT64_C(1) << 47)

struct section {
	uint64_t end;
	bool alloc, exec;
};

static void elf_endp(Elf **elf)
{
	elf_end(*elf);
}

static Elf *open_elf(int fd)
{
	const char *ident;
	Elf *elf;

	elf_version(EV_CURRENT);
	/* Not mapped: a file cut short meanwhile would be a SIGBUS. */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return NULL;
	ident = elf_getident(elf, NULL);
	if (elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64 &&
	    ident && ident[EI_DATA] == ELFDATA2LSB)
		return elf;
	elf_end(elf);
	return NULL;
}

static int add_load(struct elf_layout *layout, const GElf_Phdr *phdr)
{
	struct elf_load *load = &layout->load[layout->loads];
	uint64_t end;

	if (!phdr->p_memsz)
		return 0;
	if (layout->loads == ELF_LOADS || phdr->p_vaddr >= MAX_ADDRESS ||
	    phdr->p_memsz >= MAX_ADDRESS || phdr->p_offset >= MAX_ADDRESS ||
	    phdr->p_filesz > phdr->p_memsz)
		return -ENOEXEC;
	end = phdr->p_vaddr + phdr->p_memsz;
	/* The ABI asks for ascending addresses. */
	if (layout->loads && phdr->p_vaddr < layout->end)
		return -ENOEXEC;
	if (!layout->loads)
		layout->start = page_down(phdr->p_vaddr);
	layout->end = end;
	*load = (struct elf_load){ phdr->p_vaddr, phdr->p_memsz, phdr->p_filesz,
				   phdr->p_offset, phdr->p_flags & PF_X };
	layout->loads++;
	if (load->exec) {
		if (!layout->text_end)
			layout->text_start = phdr->p_vaddr;
		layout->text_end = end;
	}
	return 0;
}

static void read_build_id(Elf *elf, const GElf_Phdr *phdr,
			  struct elf_layout *layout)
{
	size_t at = 0, next, name, desc;
	GElf_Nhdr note;
	Elf_Data *data;

	if (phdr->p_filesz > 65536)
		return;
	data = elf_getdata_rawchunk(elf, phdr->p_offset, phdr->p_filesz,
				    phdr->p_align == 8 ? ELF_T_NHDR8
						       : ELF_T_NHDR);
	while (data && (next = gelf_getnote(data, at, &note, &name, &desc))) {
		const char *bytes = data->d_buf;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(bytes + name, "GNU", 4) && note.n_descsz > 1 &&
		    note.n_descsz <= ELF_BUILD_ID) {
			memcpy(layout->build_id, bytes + desc, note.n_descsz);
			layout->build_id_size = note.n_descsz;
			return;
		}
		at = next;
	}
}

static int add_segment(Elf *elf, const GElf_Phdr *phdr,
		       struct elf_layout *layout)
{
	switch (phdr->p_type) {
	case PT_LOAD:
		return add_load(layout, phdr);
	case PT_GNU_EH_FRAME:
		layout->eh_frame_hdr = phdr->p_vaddr;
		layout->eh_frame_hdr_size = phdr->p_memsz;
		break;
	case PT_GNU_RELRO:
		layout->relro_start = phdr->p_vaddr;
		layout->relro_end = phdr->p_vaddr + phdr->p_memsz;
		break;
	case PT_TLS:
		layout->tls_size = min_u64(phdr->p_memsz, MAX_ADDRESS);
		layout->tls_align = min_u64(phdr->p_align, MAX_ADDRESS);
		break;
	case PT_NOTE:
		if (!layout->build_id_size)
			read_build_id(elf, phdr, layout);
		break;
	default:
		break;
	}
	return 0;
}

static bool inside(const struct elf_layout *layout, uint64_t start,
		   uint64_t end)
{
	return start >= layout->start && start <= end && end <= layout->end;
}

int elf_layout(int fd, struct elf_layout *ret)
{
	_cleanup_(elf_endp) Elf *elf = open_elf(fd);
	struct elf_layout layout = { 0 };
	size_t count;

	if (!elf || elf_getphdrnum(elf, &count) < 0 || count > 1024)
		return -ENOEXEC;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;
		int r;

		if (!gelf_getphdr(elf, i, &phdr))
			return -ENOEXEC;
		r = add_segment(elf, &phdr, &layout);
		if (r < 0)
			return r;
	}
	if (!layout.loads)
		return -ENOEXEC;
	if (!inside(&layout, layout.eh_frame_hdr,
		    layout.eh_frame_hdr + layout.eh_frame_hdr_size))
		layout.eh_frame_hdr = layout.eh_frame_hdr_size = 0;
	/* RELRO is rounded to pages and may end past the last segment. */
	if (layout.relro_start < layout.start ||
	    layout.relro_end < layout.relro_start ||
	    layout.relro_end > page_up(layout.end))
		layout.relro_start = layout.relro_end = 0;
	*ret = layout;
	return 0;
}

/* The sections' ends by index; NULL with *count 0 if there are none. */
static int read_sections(Elf *elf, struct section **ret, size_t *count)
{
	size_t n;

	*ret = NULL;
	*count = 0;
	if (elf_getshdrnum(elf, &n) < 0 || !n)
		return 0;
	*ret = calloc(n, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	*count = n;
	for (size_t i = 0; i < n; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);
		struct section *section = &(*ret)[i];
		GElf_Shdr shdr;

		if (!scn || !gelf_getshdr(scn, &shdr) ||
		    shdr.sh_addr >= MAX_ADDRESS || shdr.sh_size >= MAX_ADDRESS)
			continue;
		section->end = shdr.sh_addr + shdr.sh_size;
		section->alloc = shdr.sh_flags & SHF_ALLOC;
		section->exec = shdr.sh_flags & SHF_EXECINSTR;
	}
	return 0;
}

static int own_strings(struct elf_table *table, const Elf_Data *data,
		       char **ret)
{
	char **strings = reallocarray(table->strings, table->nstrings + 1,
				      sizeof(*strings));
	char *copy;

	if (!strings)
		return -ENOMEM;
	table->strings = strings;
	copy = malloc(data->d_size + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data->d_buf, data->d_size);
	copy[data->d_size] = '\0';
	strings[table->nstrings++] = copy;
	*ret = copy;
	return 0;
}

static int append(struct elf_entry **array, size_t *count, size_t *capacity,
		  const struct elf_entry *entry)
{
	if (*count == *capacity) {
		size_t n = *capacity ? 2 * *capacity : 64;
		struct elf_entry *bigger =
			reallocarray(*array, n, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		*array = bigger;
		*capacity = n;
	}
	(*array)[(*count)++] = *entry;
	return 0;
}

static int add_entry(struct elf_table *table, const struct elf_entry *entry)
{
	if (entry->thread)
		return append(&table->thread, &table->threads,
			      &table->thread_capacity, entry);
	return append(&table->entry, &table->count, &table->capacity, entry);
}

/* false: not a thing in memory, as a file's name or an undefined symbol. */
static bool to_entry(const GElf_Sym *sym, const struct section *section,
		     struct elf_entry *entry)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	if (type != STT_NOTYPE && type != STT_OBJECT && type != STT_FUNC &&
	    type != STT_GNU_IFUNC && type != STT_TLS)
		return false;
	if (!section->alloc || sym->st_value >= MAX_ADDRESS)
		return false;
	*entry = (struct elf_entry){
		.addr = sym->st_value,
		.size = min_u64(sym->st_size, MAX_ADDRESS),
		.limit = section->end,
		.function = type == STT_FUNC || type == STT_GNU_IFUNC ||
			    (type == STT_NOTYPE && section->exec),
		.global = GELF_ST_BIND(sym->st_info) != STB_LOCAL,
		.typed = type != STT_NOTYPE,
		.thread = type == STT_TLS,
	};
	return true;
}

/*
 * memcpy@GLIBC_2.2.5: the linker leaves the version in .symtab names.  What
 * begins with it is no name, and may be the end of one told before.
 */
static void strip_version(char *name)
{
	char *at = strchr(name, '@');

	if (at)
		*at = '\0';
}

struct symtab {
	Elf_Data *data;
	Elf_Data *strings;
	size_t count;
};

/* 0, or 1 if the section is not one that we can read. */
static int open_symtab(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr,
		       struct symtab *ret)
{
	Elf_Scn *link = elf_getscn(elf, shdr->sh_link);
	GElf_Shdr strings;

	if (!link || !gelf_getshdr(link, &strings) ||
	    strings.sh_type != SHT_STRTAB || strings.sh_size > MAX_SECTION ||
	    shdr->sh_size > MAX_SECTION ||
	    ((shdr->sh_flags | strings.sh_flags) & SHF_COMPRESSED))
		return 1;
	ret->data = elf_getdata(scn, NULL);
	ret->strings = elf_getdata(link, NULL);
	if (!ret->data || !ret->data->d_buf || ret->data->d_type != ELF_T_SYM ||
	    !ret->strings || !ret->strings->d_buf)
		return 1;
	ret->count = ret->data->d_size / sizeof(Elf64_Sym);
	return 0;
}

static int add_symtab(struct elf_table *table, Elf *elf, Elf_Scn *scn,
		      const GElf_Shdr *shdr, const struct section *section,
		      size_t sections)
{
	struct symtab symtab;
	char *names;
	int r;

	if (open_symtab(elf, scn, shdr, &symtab))
		return 0;
	r = own_strings(table, symtab.strings, &names);
	for (size_t i = 0; r == 0 && i < symtab.count; i++) {
		struct elf_entry entry;
		GElf_Sym sym;

		if (!gelf_getsym(symtab.data, i, &sym) || !sym.st_shndx ||
		    sym.st_shndx >= sections ||
		    sym.st_name >= symtab.strings->d_size ||
		    !to_entry(&sym, &section[sym.st_shndx], &entry))
			continue;
		strip_version(names + sym.st_name);
		entry.name = names + sym.st_name;
		if (*entry.name)
			r = add_entry(table, &entry);
	}
	return r;
}

int elf_table_read(struct elf_table *table, int fd)
{
	_cleanup_(elf_endp) Elf *elf = open_elf(fd);
	_cleanup_(freep) struct section *section = NULL;
	size_t sections;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	int r;

	if (!elf)
		return -ENOEXEC;
	r = read_sections(elf, &section, &sections);
	if (r < 0)
		return r;
	while (r == 0 && (scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &shdr))
			continue;
		if (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM)
			continue;
		table->symtab |= shdr.sh_type == SHT_SYMTAB;
		r = add_symtab(table, elf, scn, &shdr, section, sections);
	}
	return r;
}

int elf_section(int fd, const char *name, size_t max, struct buffer *ret)
{
	_cleanup_(elf_endp) Elf *elf = open_elf(fd);
	Elf_Scn *scn = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return -ENOEXEC;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *called;
		Elf_Data *data;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_PROGBITS)
			continue;
		called = elf_strptr(elf, names, shdr.sh_name);
		if (!called || strcmp(called, name) != 0)
			continue;
		if (shdr.sh_size > max)
			return -E2BIG;
		data = elf_rawdata(scn, NULL);
		if (!data || !data->d_buf)
			return -ENOEXEC;
		buffer_append(ret, data->d_buf, data->d_size);
		return ret->failed ? -ENOMEM : 0;
	}
	return -ENOENT;
}
