/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/cpython.h"

/*
 * Nothing in such a block tells whose it is.  The owner's own pointer does:
 * owners are learnt as they are met, and asked again before they are named.
 */

enum { WEAK_HINTS = 4, MAX_VALUES = 64 };

/* What lies at @addr, and begins and ends where. */
struct part {
	enum {
		PART_NONE,
		PART_ITEMS,
		PART_KEYS,
		PART_SHARED_KEYS,
		PART_DICT_VALUES,
		PART_VALUES
	} kind;
	uint64_t start, end;
};

/* Does a class descend from the builtin @base, by its flags (3.9 and later)? */
static bool is_kind(const struct py_class *class, unsigned bit)
{
	return class->flags >> bit & 1;
}

enum { LIST_SUBCLASS = 25, DICT_SUBCLASS = 29, TYPE_SUBCLASS = 31 };

/* 3.11, 3.12: attributes lie in a block that the word before one points to. */
static bool values_of(const struct cpython *py, const struct py_object *object,
		      struct part *ret)
{
	const struct py_class *class = object->class;
	struct py_keys keys;
	uint64_t values;

	if ((py->layout.minor != 11 && py->layout.minor != 12) ||
	    !(class->flags & PY_MANAGED_DICT) ||
	    !py_word(py, object->addr - (py->layout.minor == 11 ? 32 : 24),
		     &values) ||
	    !values || !py_keys(py, class->keys, &keys))
		return false;
	if (py->layout.minor == 12) {
		if (!(values & 1))
			return false;
		values++;
	}
	*ret = (struct part){ PART_VALUES, values,
			      values + (keys.used + keys.usable) * 8 };
	return true;
}

static unsigned parts_of_dict(const struct cpython *py, const uint64_t word[6],
			      struct part ret[2])
{
	struct py_keys keys;

	if (!py_keys(py, word[4], &keys))
		return 0;
	ret[0] = (struct part){ PART_KEYS, keys.addr, keys.end };
	if (!word[5])
		return 1;
	ret[1] = (struct part){ PART_DICT_VALUES, word[5],
				word[5] + (keys.used + keys.usable) * 8 };
	if (py->layout.minor >= 13)
		ret[1].start += 8;
	return 2;
}

/* The keys that the attributes of all its objects share. */
static bool shared_keys_of(const struct cpython *py, uint64_t class,
			   struct part *ret)
{
	struct py_keys keys;
	uint64_t addr;

	if (!py_word(py, class + py->layout.keys, &addr) || !addr ||
	    !py_keys(py, addr, &keys))
		return false;
	*ret = (struct part){ PART_SHARED_KEYS, keys.addr, keys.end };
	return true;
}

/* Up to three. */
static unsigned parts_of(const struct cpython *py,
			 const struct py_object *object, struct part ret[3])
{
	unsigned n = 0;
	uint64_t word[6];

	if (is_kind(object->class, LIST_SUBCLASS)) {
		if (!py_words(py, object->addr, word, 5) || !word[3] ||
		    word[4] > UINT32_MAX)
			return 0;
		ret[n++] = (struct part){ PART_ITEMS, word[3],
					  word[3] + word[4] * 8 };
	} else if (is_kind(object->class, DICT_SUBCLASS)) {
		if (!py_words(py, object->addr, word, 6))
			return 0;
		n += parts_of_dict(py, word, ret);
	} else if (is_kind(object->class, TYPE_SUBCLASS) && object->size &&
		   object->block.kind != PY_STATIC) {
		n += shared_keys_of(py, object->addr, ret);
	}
	if (values_of(py, object, &ret[n]))
		n++;
	return n;
}

static void owner_is(struct cpython *py, uint64_t storage, uint64_t owner)
{
	if (py->owners.count >= PY_OWNERS)
		table_done(&py->owners);
	/* Without memory it is not known the next time. */
	if (table_put(&py->owners, storage, (void *)(uintptr_t)(owner + 1)) < 0)
		table_done(&py->owners);
}

/* Blocks are found by where they begin: a part may begin within. */
static uint64_t block_of_part(const struct cpython *py, const struct part *part)
{
	struct py_block block;

	if (py_pool_block(py, part->start, &block))
		return block.start;
	return part->start;
}

void py_learn(struct cpython *py, const struct py_object *object)
{
	struct part part[3];
	unsigned n = parts_of(py, object, part);

	for (unsigned i = 0; i < n; i++)
		owner_is(py, block_of_part(py, &part[i]), object->addr);
	if (!object->class->keys ||
	    !shared_keys_of(py, object->class->addr, part))
		return;
	owner_is(py, block_of_part(py, part), object->class->addr);
}

unsigned py_parts(struct cpython *py, const struct py_object *object,
		  struct py_block ret[3])
{
	struct part part[3];
	unsigned n = parts_of(py, object, part);

	for (unsigned i = 0; i < n; i++)
		ret[i] = (struct py_block){ PY_NOWHERE, part[i].start,
					    part[i].end, false };
	py_learn(py, object);
	return n;
}

static void name_key(const struct cpython *py, uint64_t addr,
		     const struct part *part, char *text, size_t size)
{
	static const char *const column[] = { "me_hash", "me_key", "me_value" };
	struct py_keys keys;
	const char *member =
		part->kind == PART_KEYS ? "ma_keys" : "ht_cached_keys";
	uint64_t i, field;
	char key[PY_NAME / 4];

	if (!py_keys(py, part->start, &keys))
		return;
	if (addr < keys.first - keys.indices) {
		snprintf(text, size, "%s", member);
		return;
	}
	if (addr < keys.first) {
		snprintf(text, size, "%s.dk_indices", member);
		return;
	}
	i = (addr - keys.first) / keys.entry;
	field = (addr - keys.first) % keys.entry / 8;
	field += keys.key == 0;
	if (py_key_text(py, &keys, i, key, sizeof(key)))
		snprintf(text, size, "['%s'].%s", key, column[field]);
	else
		snprintf(text, size, "%s[%ju].%s", member, (uintmax_t)i,
			 column[field]);
}

static void name_value(const struct cpython *py, uint64_t keys_addr,
		       uint64_t addr, const struct part *part, char *text,
		       size_t size)
{
	uint64_t i = (addr - part->start) / 8;
	struct py_keys keys;

	if (!py_keys(py, keys_addr, &keys) ||
	    !py_key_text(py, &keys, i, text, size))
		snprintf(text, size, "<values>[%ju]", (uintmax_t)i);
}

static void name_part(const struct cpython *py, const struct py_object *owner,
		      const struct part *part, uint64_t addr, char *text,
		      size_t size)
{
	uint64_t keys;

	text[0] = '\0';
	if (addr < part->start) {
		/* what 3.11 and 3.12 keep of the order of attributes */
		snprintf(text, size, "<values>");
		return;
	}
	switch (part->kind) {
	case PART_ITEMS:
		snprintf(text, size, "[%ju]",
			 (uintmax_t)(addr - part->start) / 8);
		break;
	case PART_KEYS:
	case PART_SHARED_KEYS:
		name_key(py, addr, part, text, size);
		break;
	case PART_DICT_VALUES:
		if (py_word(py, owner->addr + 32, &keys))
			name_value(py, keys, addr, part, text, size);
		break;
	case PART_VALUES:
		name_value(py, owner->class->keys, addr, part, text, size);
		break;
	case PART_NONE:
		break;
	}
}

/* Is @addr, in @block, a part of the object at @owner? */
static bool owns(struct cpython *py, uint64_t owner, uint64_t addr,
		 const struct py_block *block, struct component *ret)
{
	struct py_object object;
	struct part part[3];
	unsigned n;

	if (!py_object_at(py, owner, &object))
		return false;
	n = parts_of(py, &object, part);
	for (unsigned i = 0; i < n; i++) {
		if (part[i].start < block->start || part[i].end > block->end ||
		    addr >= part[i].end)
			continue;
		ret->kind = "object";
		ret->runtime = "cpython";
		ret->how = "owner";
		ret->confidence = CONFIDENCE_EXACT;
		ret->start = block->start;
		ret->size = block->end - block->start;
		component_name(ret, object.class->name);
		name_part(py, &object, &part[i], addr, ret->member,
			  sizeof(ret->member));
		owner_is(py, block->start, owner);
		return true;
	}
	return false;
}

/* Registers that may point to an object: the instruction's own first. */
static bool by_register(struct cpython *py, const struct query *query,
			const struct py_block *block, struct component *ret)
{
	unsigned tried = 0;

	for (unsigned i = 0; i < query->ncandidates; i++)
		if (owns(py, query->candidates[i], query->addr, block, ret))
			return true;
	for (unsigned i = 0; query->registers && i < 16; i++) {
		uint64_t value = query->registers[i];
		const struct mapping *m;

		if (value % 8 || value < PAGE || tried == WEAK_HINTS ||
		    (value >= block->start && value < block->end) ||
		    value == query->sp)
			continue;
		m = maps_find(py->view->world->maps, value);
		if (!m || m->inode || m->path[0] == '[')
			continue;
		tried++;
		if (owns(py, value, query->addr, block, ret))
			return true;
	}
	return false;
}

bool py_owned(struct cpython *py, const struct query *query,
	      const struct py_block *block, struct component *ret)
{
	uint64_t known =
		(uint64_t)(uintptr_t)table_get(&py->owners, block->start);

	if (known && owns(py, known - 1, query->addr, block, ret))
		return true;
	return by_register(py, query, block, ret);
}
