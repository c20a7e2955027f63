/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/hotspot_stack.h"

enum {
	MAX_PAIRS = 1 << 16, /* of a table of lines */
	LARGE = 192,	     /* a byte from here on is followed by another */
	DIGIT = 6,	     /* bits of each */
	DIGITS = 5,
};

bool hotspot_number(struct hotspot *hotspot, uint64_t *addr, uint32_t *ret)
{
	unsigned least = hotspot->unsigned5; /* 1 from 20 on: no byte is 0 */

	*ret = 0;
	for (unsigned i = 0; i < DIGITS; i++) {
		uint8_t byte;

		if (pages_read(hotspot->pages, (*addr)++, &byte, 1) < 0 ||
		    byte < least)
			return false;
		*ret += (uint32_t)(byte - least) << (DIGIT * i);
		if (byte < LARGE)
			break;
	}
	return true;
}

static bool read_signed(struct hotspot *hotspot, uint64_t *addr, int32_t *ret)
{
	uint32_t number;

	if (!hotspot_number(hotspot, addr, &number))
		return false;
	*ret = (int32_t)(number >> 1) ^ -(int32_t)(number & 1);
	return true;
}

/* Pairs of steps, of bytecodes and lines (compressedStream.hpp). */
static unsigned read_line(struct hotspot *hotspot,
			  const struct java_method *method, uint32_t wanted)
{
	uint64_t at = method->code + method->code_size;
	int64_t bci = 0, line = 0, best = -1;
	int32_t bcis, lines;
	unsigned ret = 0;

	for (unsigned i = 0; i < MAX_PAIRS; i++) {
		uint8_t byte;

		if (pages_read(hotspot->pages, at++, &byte, 1) < 0)
			return 0;
		if (!byte)
			break;
		bcis = byte >> 3;
		lines = byte & 7;
		if (byte == 0xff && (!read_signed(hotspot, &at, &bcis) ||
				     !read_signed(hotspot, &at, &lines)))
			return 0;
		bci += bcis;
		line += lines;
		if (bci >= 0 && bci <= wanted && bci >= best) {
			best = bci;
			ret = line > 0 && line < 0x10000 ? (unsigned)line : 0;
		}
		if (bci == wanted)
			break;
	}
	return ret;
}

unsigned hotspot_line(struct hotspot *hotspot, const struct java_method *method,
		      uint32_t bci)
{
	uint64_t key = (uint64_t)method->serial << 32 | bci;
	uintptr_t known = (uintptr_t)table_get(&hotspot->lines, key);
	unsigned line;

	if (!method->has_lines)
		return 0;
	if (known)
		return (unsigned)(known - 1);
	line = read_line(hotspot, method, bci);
	if (hotspot->lines.count >= JAVA_LINES)
		table_done(&hotspot->lines);
	/* Without memory it is looked up again. */
	if (table_put(&hotspot->lines, key,
		      (void *)(uintptr_t)((uint64_t)line + 1)) < 0)
		table_done(&hotspot->lines);
	return line;
}

/* As much of a method as tells which one it is. */
struct head {
	uint64_t constant, pool, holder, symbol;
	uint16_t name, code_size;
};

static bool read_head(struct hotspot *hotspot, uint64_t addr, struct head *ret)
{
	const struct hotspot_layout *at = &hotspot->at;
	struct klass *klass;

	memset(ret, 0, sizeof(*ret));
	if (addr % 8 || addr < PAGE || at->method_const < 0 ||
	    at->const_constants < 0 || at->const_name < 0 ||
	    at->const_code < 0 || at->const_method_size < 0 ||
	    at->pool_holder < 0 ||
	    !hotspot_word(hotspot, addr + at->method_const, &ret->constant) ||
	    ret->constant % 8 || ret->constant < PAGE ||
	    !hotspot_word(hotspot, ret->constant + at->const_constants,
			  &ret->pool) ||
	    ret->pool % 8 || ret->pool < PAGE ||
	    !hotspot_word(hotspot, ret->pool + at->pool_holder, &ret->holder) ||
	    !hotspot_short(hotspot, ret->constant + at->const_name,
			   &ret->name) ||
	    !hotspot_short(hotspot, ret->constant + at->const_code,
			   &ret->code_size))
		return false;
	klass = hotspot_klass(hotspot, ret->holder);
	if (!klass)
		return false;
	ret->symbol = klass->symbol;
	return true;
}

static void free_method(struct java_method *method)
{
	free(method->name);
	free(method->file);
	free(method);
}

void hotspot_forget_methods(struct hotspot *hotspot)
{
	table_for_each(&hotspot->methods, s) free_method(s->value);
	table_done(&hotspot->methods);
	table_done(&hotspot->lines);
}

/* Of the classes that wrote no file there is none. */
static char *file_of(struct hotspot *hotspot, const struct head *head)
{
	const struct hotspot_layout *at = &hotspot->at;
	char text[COMPONENT_NAME];
	uint64_t symbol;
	uint16_t index;

	if (at->pool_file < 0 || at->pool_size < 0 ||
	    !hotspot_short(hotspot, head->pool + at->pool_file, &index) ||
	    !index ||
	    !hotspot_word(hotspot, head->pool + at->pool_size + 8 * index,
			  &symbol) ||
	    !hotspot_symbol(hotspot, symbol & ~UINT64_C(7), text, sizeof(text)))
		return NULL;
	return strdup(text);
}

static bool has_lines(struct hotspot *hotspot, uint64_t constant)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint16_t flags;

	return at->lines_flag > 0 && at->const_flags >= 0 &&
	       hotspot_short(hotspot, constant + at->const_flags, &flags) &&
	       flags & at->lines_flag;
}

static struct java_method *new_method(struct hotspot *hotspot, uint64_t addr,
				      const struct head *head)
{
	char name[COMPONENT_NAME];
	struct java_method *method;

	if (hotspot->methods.count >= JAVA_METHODS ||
	    !hotspot_method(hotspot, addr, name, sizeof(name)))
		return NULL;
	method = calloc(1, sizeof(*method));
	if (!method)
		return NULL;
	*method = (struct java_method){
		.addr = addr,
		.epoch = hotspot->epoch,
		.print = table_hash(head, sizeof(*head)),
		.serial = hotspot->serial++,
		.constant = head->constant,
		.code = head->constant + hotspot->at.const_method_size,
		.code_size = head->code_size,
		.has_lines = has_lines(hotspot, head->constant),
		.name = strdup(name),
		.file = file_of(hotspot, head),
	};
	if (method->name && table_put(&hotspot->methods, addr, method) == 0)
		return method;
	free_method(method);
	return NULL;
}

/* Those that came with the machine stay where they are. */
const struct java_method *hotspot_method_at(struct hotspot *hotspot,
					    uint64_t addr)
{
	struct java_method *method = table_get(&hotspot->methods, addr);
	struct head head;

	if (method && (method->epoch == hotspot->epoch ||
		       (addr >= hotspot->shared && addr < hotspot->shared_end)))
		return method;
	if (!read_head(hotspot, addr, &head))
		return NULL;
	if (method && method->print == table_hash(&head, sizeof(head))) {
		method->epoch = hotspot->epoch;
		return method;
	}
	if (method) {
		table_remove(&hotspot->methods, addr);
		free_method(method);
	}
	return new_method(hotspot, addr, &head);
}
