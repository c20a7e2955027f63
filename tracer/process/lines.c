/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/process/lines.h"
#include "tracer/process/scopes.h"

enum { SCOPES_MAX = 256 };

struct lines {
	int fd;
	bool begun;
	Dwarf *dwarf; /* NULL: nothing in it, or not begun */
};

struct lines *lines_open(int fd)
{
	struct lines *lines = calloc(1, sizeof(*lines));

	if (!lines) {
		close(fd);
		return NULL;
	}
	lines->fd = fd;
	return lines;
}

void lines_free(struct lines *lines)
{
	if (!lines)
		return;
	dwarf_end(lines->dwarf);
	close(lines->fd);
	free(lines);
}

/* It unpacks what is compressed: only for who asks. */
static Dwarf *begin(struct lines *lines)
{
	if (!lines->begun)
		lines->dwarf = dwarf_begin(lines->fd, DWARF_C_READ);
	lines->begun = true;
	return lines->dwarf;
}

struct Dwarf *lines_dwarf(struct lines *lines)
{
	return begin(lines);
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(
		dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute));

	return name ? name : dwarf_diename(die);
}

static unsigned number_of(Dwarf_Die *die, unsigned key)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(die, key, &attribute), &value) ||
	    value > INT32_MAX)
		return 0;
	return (unsigned)value;
}

/* Where the inlined function @die was called. */
static struct line call_of(Dwarf_Die *unit, Dwarf_Die *die)
{
	struct line line = { .line = number_of(die, DW_AT_call_line) };
	Dwarf_Files *files;
	size_t count;

	if (dwarf_getsrcfiles(unit, &files, &count) == 0)
		line.file = dwarf_filesrc(
			files, number_of(die, DW_AT_call_file), NULL, NULL);
	return line;
}

size_t lines_at(struct lines *lines, uint64_t addr, struct line *ret,
		size_t max)
{
	Dwarf_Die unit, *scopes = NULL;
	Dwarf_Line *line;
	size_t n = 0;
	int scope, number = 0;

	if (!begin(lines) || !scopes_unit(lines->dwarf, addr, &unit))
		return 0;
	ret[0] = (struct line){ 0 };
	line = dwarf_getsrc_die(&unit, addr);
	if (line && dwarf_lineno(line, &number) == 0 && number > 0) {
		ret[0].line = (unsigned)number;
		ret[0].file = dwarf_linesrc(line, NULL, NULL);
	}
	scope = scopes_at(&unit, addr, &scopes);
	for (int i = 0; i < scope && i < SCOPES_MAX && n + 1 < max; i++) {
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			break;
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		ret[n].function = name_of(&scopes[i]);
		ret[++n] = call_of(&unit, &scopes[i]);
	}
	free(scopes);
	return n + 1;
}
