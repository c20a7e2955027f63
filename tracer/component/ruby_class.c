/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/ruby.h"
#include "tracer/component/text.h"

enum {
	MAX_CLASSES = 1 << 17,
	MAX_PATH = 256,
	MAX_ENTRIES = 65536, /* of a table of variables */
	MAX_SUPER = 64,	     /* singleton classes before the real one */
	MAX_IDS = 1 << 26,
	STALE = 256, /* stops after which a "no" is looked at again */
};

/* struct RClass, and rb_classext_t behind its "ptr", in words */
enum { CLASS_FLAGS, CLASS_CLASS, CLASS_SUPER, CLASS_EXTENSION, CLASS_WORDS };
enum { EXT_INDEXES, EXT_VARIABLES, EXT_WORDS };
#define SINGLETON RUBY_USER(0)

/* struct st_table, and its entries { hash, key, record } */
enum { ST_COUNT = 2, ST_START = 4, ST_BOUND, ST_ENTRIES, ST_WORDS };
enum { ENTRY_KEY = 1, ENTRY_RECORD, ENTRY_WORDS };
#define DELETED UINT64_MAX

/* struct RString, struct RArray */
enum { LENGTH = 2, STRING_TEXT = 3, ARRAY_ITEMS = 4, VALUE_WORDS };
#define NOT_EMBEDDED RUBY_USER(1) /* of a string; of an array: embedded */

bool ruby_text(struct ruby *ruby, uint64_t addr, char *text, size_t size)
{
	struct pages *pages = ruby->view->pages;
	uint64_t word[VALUE_WORDS], length, from;

	if (!addr || addr % 8 || !pages_words(pages, addr, word, VALUE_WORDS) ||
	    ruby_type(word[0]) != RUBY_STRING)
		return false;
	length = word[LENGTH];
	from = word[STRING_TEXT];
	if (!(word[0] & NOT_EMBEDDED)) {
		length = word[0] / RUBY_USER(2) & 0x1f;
		from = addr + 16;
	}
	return length && length < size &&
	       text_copy(pages, from, length, text, size);
}

/* Entries of a table, from @*at on; false: no more. */
static bool next_entry(struct ruby *ruby, const uint64_t table[ST_WORDS],
		       uint64_t *at, uint64_t entry[ENTRY_WORDS])
{
	uint64_t bound = min_u64(table[ST_BOUND], MAX_ENTRIES);

	for (*at = max_u64(*at, table[ST_START]); *at < bound;) {
		uint64_t addr = table[ST_ENTRIES] + 24 * (*at)++;

		if (!pages_words(ruby->view->pages, addr, entry, ENTRY_WORDS))
			return false;
		if (entry[0] != DELETED)
			return true;
	}
	return false;
}

static bool read_table(struct ruby *ruby, uint64_t addr,
		       uint64_t table[ST_WORDS])
{
	return addr && addr % 8 == 0 &&
	       pages_words(ruby->view->pages, addr, table, ST_WORDS) &&
	       table[ST_BOUND] <= MAX_ENTRIES;
}

/* The variable of the class that holds its path. */
static bool read_path(struct ruby *ruby, uint64_t variables, const char *is,
		      char path[MAX_PATH])
{
	uint64_t table[ST_WORDS], entry[ENTRY_WORDS], at = 0;

	if (!read_table(ruby, variables, table))
		return false;
	while (next_entry(ruby, table, &at, entry)) {
		if (ruby->path_id && entry[ENTRY_KEY] != ruby->path_id)
			continue;
		if (!ruby_text(ruby, entry[ENTRY_RECORD], path, MAX_PATH))
			continue;
		if (is && strcmp(path, is) != 0)
			continue;
		ruby->path_id = entry[ENTRY_KEY];
		return true;
	}
	return false;
}

static bool read_class(struct ruby *ruby, uint64_t addr,
		       uint64_t word[CLASS_WORDS])
{
	return addr && addr % 8 == 0 &&
	       pages_words(ruby->view->pages, addr, word, CLASS_WORDS);
}

static bool read_extension(struct ruby *ruby, uint64_t addr,
			   uint64_t word[EXT_WORDS])
{
	return addr && addr % 8 == 0 &&
	       pages_words(ruby->view->pages, addr, word, EXT_WORDS);
}

/* Nobody tells the number of "__classpath__", but that of Object is known. */
static void learn_path_id(struct ruby *ruby)
{
	uint64_t object, class[CLASS_WORDS], extension[EXT_WORDS];
	char path[MAX_PATH];

	if (pages_words(ruby->view->pages, ruby->object, &object, 1) &&
	    read_class(ruby, object, class) &&
	    ruby_type(class[CLASS_FLAGS]) == RUBY_CLASS &&
	    read_extension(ruby, class[CLASS_EXTENSION], extension))
		read_path(ruby, extension[EXT_VARIABLES], "Object", path);
}

char *ruby_path(struct ruby *ruby, uint64_t addr)
{
	uint64_t class[CLASS_WORDS], extension[EXT_WORDS];
	char path[MAX_PATH];
	unsigned type;

	if (!ruby->path_id)
		learn_path_id(ruby);
	if (!ruby->path_id || !read_class(ruby, addr, class))
		return NULL;
	type = ruby_type(class[CLASS_FLAGS]);
	if ((type != RUBY_CLASS && type != RUBY_MODULE) ||
	    !read_extension(ruby, class[CLASS_EXTENSION], extension))
		return NULL;
	if (!read_path(ruby, extension[EXT_VARIABLES], NULL, path))
		snprintf(path, sizeof(path), "#<%s:0x%016jx>",
			 type == RUBY_CLASS ? "Class" : "Module",
			 (uintmax_t)addr);
	return strdup(path);
}

/* Of an object that has a class of its own, the one that was written down. */
static uint64_t real_class(struct ruby *ruby, uint64_t addr)
{
	uint64_t class[CLASS_WORDS], meta;

	for (unsigned i = 0; i < MAX_SUPER; i++) {
		unsigned type;

		if (!read_class(ruby, addr, class) || !ruby_page(ruby, addr))
			return 0;
		type = ruby_type(class[CLASS_FLAGS]);
		if (type != RUBY_CLASS && type != RUBY_ICLASS)
			return 0;
		/* The class of a class is one. */
		if (type == RUBY_CLASS &&
		    (!pages_words(ruby->view->pages, class[CLASS_CLASS], &meta,
				  1) ||
		     ruby_type(meta) != RUBY_CLASS))
			return 0;
		if (type == RUBY_CLASS && !(class[CLASS_FLAGS] & SINGLETON))
			return addr;
		addr = class[CLASS_SUPER];
	}
	return 0;
}

bool ruby_is_full(const struct ruby *ruby)
{
	return ruby->classes.count >= MAX_CLASSES;
}

static void free_class(struct ruby_class *class)
{
	for (size_t i = 0; i < ARRAY_SIZE(class->variable); i++)
		free(class->variable[i]);
	free(class->path);
	free(class);
}

void ruby_forget(struct ruby *ruby)
{
	table_for_each(&ruby->classes, s) free_class(s->value);
	table_done(&ruby->classes);
	ruby->classes = (struct table){ 0 };
	table_for_each(&ruby->pages, s) free(s->value);
	table_done(&ruby->pages);
	ruby->pages = (struct table){ 0 };
}

static void look_at(struct ruby *ruby, struct ruby_class *class)
{
	uint64_t word[CLASS_WORDS], real = real_class(ruby, class->addr);

	for (size_t i = 0; i < ARRAY_SIZE(class->variable); i++) {
		free(class->variable[i]);
		class->variable[i] = NULL;
	}
	free(class->path);
	class->path = NULL;
	class->names = 0;
	class->scan = 0;
	if (!real || !read_class(ruby, real, word))
		return;
	class->extension = word[CLASS_EXTENSION];
	class->path = ruby_path(ruby, real);
}

/* A class may be collected, and its slot used anew: does it look the same? */
static bool still(struct ruby *ruby, const struct ruby_class *class)
{
	uint64_t word[CLASS_WORDS];

	return read_class(ruby, class->addr, word) &&
	       (ruby_type(word[CLASS_FLAGS]) == RUBY_CLASS) &&
	       (word[CLASS_FLAGS] & SINGLETON ||
		word[CLASS_EXTENSION] == class->extension);
}

struct ruby_class *ruby_class(struct ruby *ruby, uint64_t addr)
{
	struct ruby_class *class = table_get(&ruby->classes, addr);

	if (class && class->path) {
		if (class->epoch == ruby->epoch)
			return class;
		class->epoch = ruby->epoch;
		if (!still(ruby, class))
			look_at(ruby, class);
		return class->path ? class : NULL;
	}
	if (class && ruby->epoch - class->epoch <= STALE)
		return NULL;
	if (!class) {
		/* Full: all is forgotten when the target has run. */
		class = ruby_is_full(ruby) ? NULL : calloc(1, sizeof(*class));
		if (!class)
			return NULL;
		class->addr = addr;
		if (table_put(&ruby->classes, addr, class) < 0) {
			free(class);
			return NULL;
		}
	}
	class->epoch = ruby->epoch;
	look_at(ruby, class);
	return class->path ? class : NULL;
}

/* The item of an array of the language; 0: there is none. */
static uint64_t array_item(struct ruby *ruby, uint64_t addr, uint64_t index)
{
	struct pages *pages = ruby->view->pages;
	uint64_t word[VALUE_WORDS], item;

	if (!addr || addr % 8 || !pages_words(pages, addr, word, VALUE_WORDS) ||
	    ruby_type(word[0]) != RUBY_ARRAY)
		return 0;
	if (word[0] & NOT_EMBEDDED) /* here it means the opposite */
		return index < (word[0] / RUBY_USER(3) & 3) ? word[2 + index]
							    : 0;
	if (index >= word[LENGTH] ||
	    !pages_words(pages, word[ARRAY_ITEMS] + 8 * index, &item, 1))
		return 0;
	return item;
}

/*
 * The name of an ID: its serial number leads into an array of arrays, of 512
 * pairs each (symbol.c: get_id_serial_entry).
 */
static char *id_name(struct ruby *ruby, uint64_t id)
{
	enum { SCOPE_BITS = 4, UNIT = 512 };
	uint64_t serial = id >> SCOPE_BITS, ids, pairs;
	char text[MAX_PATH];

	if (!ruby->symbols || serial >= MAX_IDS ||
	    !pages_words(ruby->view->pages, ruby->symbols + 16, &ids, 1))
		return NULL;
	pairs = array_item(ruby, ids, serial / UNIT);
	if (!ruby_text(ruby, array_item(ruby, pairs, serial % UNIT * 2), text,
		       sizeof(text)) ||
	    text[0] != '@')
		return NULL;
	return strdup(text);
}

/* From name to number, and the number is what memory shows. */
static void learn_variables(struct ruby *ruby, struct ruby_class *class,
			    const uint64_t table[ST_WORDS])
{
	uint64_t entry[ENTRY_WORDS], at = 0;
	uint32_t index;

	class->names = table[ST_COUNT];
	while (next_entry(ruby, table, &at, entry)) {
		if (pages_read(ruby->view->pages, entry[ENTRY_RECORD], &index,
			       4) < 0 ||
		    index >= ARRAY_SIZE(class->variable) ||
		    class->variable[index])
			continue;
		class->variable[index] = id_name(ruby, entry[ENTRY_KEY]);
	}
}

const char *ruby_variable(struct ruby *ruby, struct ruby_class *class,
			  unsigned index)
{
	uint64_t extension[EXT_WORDS], table[ST_WORDS];

	if (index >= ARRAY_SIZE(class->variable))
		return NULL;
	if (!class->variable[index] &&
	    read_extension(ruby, class->extension, extension) &&
	    read_table(ruby, extension[EXT_INDEXES], table) &&
	    table[ST_COUNT] != class->names)
		learn_variables(ruby, class, table);
	return class->variable[index];
}

/* What an instruction "@opcode @modrm disp32" in @code names; 0: none. */
static uint64_t operand(uint64_t addr, const uint8_t *code, size_t size,
			const char *opcode, size_t length)
{
	const uint8_t *found = memmem(code, size, opcode, length);
	int32_t displacement;

	if (!found || (size_t)(found - code) + length + 4 > size)
		return 0;
	memcpy(&displacement, found + length, 4);
	return addr + (uint64_t)(found - code) + length + 4 +
	       (uint64_t)(int64_t)displacement;
}

/*
 * ruby_global_symbols has no symbol: { last id, table, ids }.  rb_id2str()
 * goes on in a function that compares with the first and loads the last.
 */
static void locate_symbols(struct ruby *ruby, const char *library)
{
	struct pages *pages = ruby->view->pages;
	uint8_t code[32], body[128];
	struct symbol symbol;
	uint64_t to, last, ids;

	if (!symbols_named(ruby->view->world->symbols, library, "rb_id2str",
			   &symbol, 1) ||
	    pages_read(pages, symbol.addr, code, sizeof(code)) < 0)
		return;
	to = operand(symbol.addr, code, sizeof(code), "\xe9", 1); /* jmp */
	if (!to || pages_read(pages, to, body, sizeof(body)) < 0)
		return;
	last = operand(to, body, sizeof(body), "\x39\x3d", 2); /* cmp [], edi */
	ids = operand(to, body, sizeof(body), "\x48\x8b\x3d", 3);
	if (last && ids == last + 16)
		ruby->symbols = last;
}

void ruby_locate(struct ruby *ruby)
{
	struct symbols *symbols = ruby->view->world->symbols;
	const char *library = ruby->module->name;
	struct symbol symbol;

	if (symbols_named(symbols, library, "ruby_version", &symbol, 1))
		text_read(ruby->view->pages, symbol.addr, ruby->version,
			  sizeof(ruby->version));
	if (!symbols_named(symbols, library, "rb_cObject", &symbol, 1))
		return;
	ruby->object = symbol.addr;
	ruby->supported = !strncmp(ruby->version, "3.1.", 4);
	locate_symbols(ruby, library);
}
