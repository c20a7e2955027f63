/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "tracer/component/hotspot.h"

enum {
	MAX_CLASSES = 1 << 18,
	MAX_LOADERS = 1 << 16,
	MAX_SYMBOL = COMPONENT_NAME,
	MAX_HEAD = 256,
};

/* As much of a Klass as tells which class it is. */
struct head {
	int32_t layout;
	uint64_t symbol, object, super;
};

static bool read_head(struct hotspot *hotspot, uint64_t klass, struct head *ret)
{
	const struct hotspot_layout *at = &hotspot->at;
	char bytes[MAX_HEAD];

	if (klass % 8 || klass < PAGE ||
	    pages_read(hotspot->pages, klass, bytes, hotspot->klass_head) < 0)
		return false;
	memcpy(&ret->layout, bytes + at->klass_layout, sizeof(ret->layout));
	memcpy(&ret->symbol, bytes + at->klass_name, sizeof(ret->symbol));
	memcpy(&ret->object, bytes + at->klass_supers, sizeof(ret->object));
	memcpy(&ret->super, bytes + at->klass_super, sizeof(ret->super));
	/* The first super of all, arrays too, is java.lang.Object. */
	return ret->object == hotspot->object && ret->symbol;
}

bool hotspot_symbol(struct hotspot *hotspot, uint64_t symbol, char *text,
		    size_t size)
{
	uint16_t length;

	if (symbol % 8 || symbol < PAGE ||
	    !hotspot_short(hotspot, symbol + hotspot->at.symbol_length,
			   &length) ||
	    !length)
		return false;
	if (length >= size)
		length = (uint16_t)(size - 1);
	if (pages_read(hotspot->pages, symbol + hotspot->at.symbol_body, text,
		       length) < 0)
		return false;
	text[length] = '\0';
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

static const char *primitive(char letter)
{
	switch (letter) {
	case 'Z':
		return "boolean";
	case 'B':
		return "byte";
	case 'C':
		return "char";
	case 'S':
		return "short";
	case 'I':
		return "int";
	case 'J':
		return "long";
	case 'F':
		return "float";
	case 'D':
		return "double";
	default:
		return NULL;
	}
}

/* Of hidden classes: Foo$$Lambda$1+0x00c0 is written Foo$$Lambda$1/0x00c0. */
static void to_dots(char *name)
{
	char *plus = strrchr(name, '+');

	for (char *c = name; *c; c++)
		if (*c == '/')
			*c = '.';
	if (plus && !strncmp(plus, "+0x", 3))
		*plus = '/';
}

void hotspot_pretty(const char *name, char *text, size_t size)
{
	size_t dimensions = strspn(name, "["), n;
	const char *type;

	name += dimensions;
	type = dimensions && name[0] && !name[1] ? primitive(*name) : NULL;
	if (type)
		snprintf(text, size, "%s", type);
	else if (dimensions && *name == 'L')
		snprintf(text, size, "%.*s", (int)strcspn(name + 1, ";"),
			 name + 1);
	else
		snprintf(text, size, "%s", name);
	to_dots(text);
	n = strlen(text);
	while (dimensions-- && n + 3 <= size) {
		memcpy(text + n, "[]", 3);
		n += 2;
	}
}

static void klass_free(struct klass *klass)
{
	if (!klass)
		return;
	members_done(&klass->own);
	members_done(&klass->statics);
	free(klass->name);
	free(klass);
}

void hotspot_forget_classes(struct hotspot *hotspot)
{
	if (hotspot->classes.count)
		table_for_each(&hotspot->classes, s) klass_free(s->value);
	table_done(&hotspot->classes);
	hotspot->classes = (struct table){ 0 };
}

static struct klass *klass_new(struct hotspot *hotspot, uint64_t addr,
			       const struct head *head)
{
	char name[MAX_SYMBOL], text[MAX_SYMBOL];
	struct klass *klass;

	if (!hotspot_symbol(hotspot, head->symbol, name, sizeof(name)))
		return NULL;
	klass = calloc(1, sizeof(*klass));
	if (!klass)
		return NULL;
	hotspot_pretty(name, text, sizeof(text));
	*klass = (struct klass){
		.addr = addr,
		.symbol = head->symbol,
		.super = head->super,
		.layout = head->layout,
		.mirror = !strcmp(text, "java.lang.Class"),
		.epoch = hotspot->epoch,
		.moves = hotspot->moves,
		.name = strdup(text),
	};
	if (klass->name && table_put(&hotspot->classes, addr, klass) == 0)
		return klass;
	klass_free(klass);
	return NULL;
}

static bool is_same(const struct klass *klass, const struct head *head)
{
	return klass->symbol == head->symbol && klass->super == head->super &&
	       klass->layout == head->layout;
}

/*
 * Classes stay where they are until they are unloaded, by a collection: with
 * some collectors beside the program, uncounted.
 */
static bool is_settled(const struct hotspot *hotspot, const struct klass *klass)
{
	return klass->moves == hotspot->moves &&
	       (hotspot->collector == COLLECTOR_SERIAL ||
		hotspot->collector == COLLECTOR_PARALLEL ||
		(klass->addr >= hotspot->shared &&
		 klass->addr < hotspot->shared_end));
}

/* The one at an address is compared with what is known of it once a stop. */
struct klass *hotspot_klass(struct hotspot *hotspot, uint64_t addr)
{
	struct klass *klass = table_get(&hotspot->classes, addr);
	size_t slot = (addr >> 3) % HOTSPOT_ABSENT;
	struct head head;

	if (klass &&
	    (klass->epoch == hotspot->epoch || is_settled(hotspot, klass)))
		return klass;
	if (hotspot->absent[slot].addr == addr &&
	    hotspot->absent[slot].epoch == hotspot->epoch)
		return NULL;
	if (read_head(hotspot, addr, &head)) {
		if (klass && is_same(klass, &head)) {
			klass->epoch = hotspot->epoch;
			klass->moves = hotspot->moves;
			return klass;
		}
		if (klass) {
			table_remove(&hotspot->classes, addr);
			klass_free(klass);
		}
		klass = hotspot->classes.count < MAX_CLASSES
				? klass_new(hotspot, addr, &head)
				: NULL;
		if (klass)
			return klass;
	}
	hotspot->absent[slot].addr = addr;
	hotspot->absent[slot].epoch = hotspot->epoch;
	return NULL;
}

int hotspot_each_class(struct hotspot *hotspot,
		       int (*visit)(void *context, struct klass *klass),
		       void *context)
{
	const struct hotspot_layout *at = &hotspot->at;
	unsigned loaders = 0, classes = 0;
	uint64_t loader, addr;

	if (at->loaders < 0 || at->loader_next < 0 || at->loader_klasses < 0 ||
	    at->klass_next < 0 || !hotspot_word(hotspot, at->loaders, &loader))
		return 0;
	while (loader && loaders++ < MAX_LOADERS) {
		if (!hotspot_word(hotspot, loader + at->loader_klasses, &addr))
			return 0;
		while (addr && classes++ < MAX_CLASSES) {
			struct klass *klass = hotspot_klass(hotspot, addr);
			int r = klass ? visit(context, klass) : 0;

			if (r != 0)
				return r;
			if (!hotspot_word(hotspot, addr + at->klass_next,
					  &addr))
				break;
		}
		if (!hotspot_word(hotspot, loader + at->loader_next, &loader))
			return 0;
	}
	return 0;
}
