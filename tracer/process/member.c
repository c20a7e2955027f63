/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "tracer/process/member.h"

enum {
	MAX_DEPTH = 24,
	MAX_STEPS = 20000, /* fields looked at for one answer */
	ALTERNATIVES = 6,  /* that are named */
};

/* No base is farther from its object's start. */
#define MAX_SHIFT (INT64_C(1) << 24)

struct walk {
	const struct subject *subject;
	unsigned steps, depth;
	char *text;
	size_t used, room;
};

static void put(struct walk *walk, const char *text)
{
	size_t size = strlen(text), left = walk->room - walk->used - 1;

	if (size > left)
		size = left;
	memcpy(walk->text + walk->used, text, size);
	walk->used += size;
	walk->text[walk->used] = '\0';
}

static void put_name(struct walk *walk, const char *name)
{
	if (walk->used && !strchr("{|,.", walk->text[walk->used - 1]))
		put(walk, ".");
	put(walk, name);
}

static void cut(struct walk *walk, size_t used)
{
	walk->used = used;
	walk->text[used] = '\0';
}

static bool holds(const struct field *field, uint64_t offset)
{
	if (offset < field->offset)
		return false;
	return field->size ? offset - field->offset < field->size
			   : field->type->kind == TYPE_ARRAY;
}

static bool in_type(struct walk *walk, struct type *type, uint64_t at,
		    uint64_t offset);

/* Members and bases of their own of @type, which starts at @at. */
static bool in_class(struct walk *walk, struct type *type, uint64_t at,
		     uint64_t offset);

static bool in_array(struct walk *walk, struct type *type, uint64_t at,
		     uint64_t offset)
{
	struct type *element = type_target(type);
	uint64_t number, below = 1;
	char text[24];

	if (!element || !element->size)
		return false;
	number = offset / element->size;
	at += number * element->size;
	for (unsigned i = 1; i < type->dimensions; i++)
		below *= type->dimension[i] ? type->dimension[i] : 1;
	for (unsigned i = 0; i < type->dimensions; i++) {
		snprintf(text, sizeof(text), "[%" PRIu64 "]", number / below);
		put(walk, text);
		number %= below;
		if (i + 1 < type->dimensions && type->dimension[i + 1])
			below /= type->dimension[i + 1];
	}
	return in_type(walk, element, at, offset % element->size);
}

static bool in_field(struct walk *walk, const struct field *field, uint64_t at,
		     uint64_t offset)
{
	if (field->vptr)
		put_name(walk, "<vptr>");
	else if (field->name)
		put_name(walk, field->name);
	if (field->vptr || field->bits)
		return true;
	return in_type(walk, field->type, at + field->offset,
		       offset - field->offset);
}

static bool is_at(const struct field *field, uint64_t offset)
{
	return field->kind == FIELD_MEMBER && holds(field, offset);
}

static unsigned how_many(struct walk *walk, const struct type *type,
			 uint64_t offset)
{
	unsigned count = 0;

	for (unsigned i = 0; i < type->fields; i++)
		count += is_at(&type->field[i], offset);
	walk->steps += type->fields;
	return count;
}

/* All members of @type itself that share the byte. */
static bool in_members(struct walk *walk, struct type *type, uint64_t at,
		       uint64_t offset)
{
	unsigned count = how_many(walk, type, offset), told = 0;

	if (count > 1)
		put_name(walk, "{");
	for (unsigned i = 0; i < type->fields && told < count; i++) {
		const struct field *field = &type->field[i];

		if (!is_at(field, offset))
			continue;
		if (told++)
			put(walk, field->bits ? "," : "|");
		if (told > ALTERNATIVES) {
			put(walk, "...");
			break;
		}
		if (!in_field(walk, field, at, offset))
			put(walk, "?");
	}
	if (count > 1)
		put(walk, "}");
	return count > 0;
}

static bool in_class(struct walk *walk, struct type *type, uint64_t at,
		     uint64_t offset)
{
	size_t before = walk->used;

	type_load(type);
	if (++walk->depth > MAX_DEPTH || walk->steps > MAX_STEPS) {
		walk->depth--;
		return false;
	}
	if (in_members(walk, type, at, offset)) {
		walk->depth--;
		return true;
	}
	for (unsigned i = 0; i < type->fields; i++) {
		const struct field *base = &type->field[i];

		if (++walk->steps > MAX_STEPS)
			break;
		if (base->kind != FIELD_BASE || offset < base->offset)
			continue;
		if (in_class(walk, base->type, at + base->offset,
			     offset - base->offset)) {
			walk->depth--;
			return true;
		}
		cut(walk, before);
	}
	walk->depth--;
	return false;
}

/* Where the virtual base begins in the object that has @at for its part. */
static bool shift_of(struct walk *walk, const struct field *field, uint64_t at,
		     uint64_t *ret)
{
	const struct subject *subject = walk->subject;
	uint64_t vptr;
	int64_t shift;

	if (!subject || !subject->memory ||
	    memory_read(subject->memory, subject->start + at, &vptr, 8) < 0 ||
	    memory_read(subject->memory, vptr - field->offset, &shift, 8) < 0 ||
	    shift < -MAX_SHIFT || shift > MAX_SHIFT)
		return false;
	*ret = at + shift;
	return true;
}

struct base {
	struct type *type;
	uint64_t at;
};

/* The virtual bases of @type, which starts at @at, and of its bases. */
static bool virtual_base(struct walk *walk, struct type *type, uint64_t at,
			 bool (*visit)(void *context, const struct base *base),
			 void *context)
{
	bool done = false;

	type_load(type);
	if (++walk->depth > MAX_DEPTH) {
		walk->depth--;
		return false;
	}
	for (unsigned i = 0; !done && i < type->fields; i++) {
		const struct field *field = &type->field[i];
		struct base base = { field->type, at + field->offset };

		if (++walk->steps > MAX_STEPS)
			break;
		if (field->kind == FIELD_MEMBER)
			continue;
		if (field->kind == FIELD_VIRTUAL &&
		    !shift_of(walk, field, at, &base.at))
			continue;
		if (field->kind == FIELD_VIRTUAL)
			done = visit(context, &base);
		if (!done)
			done = virtual_base(walk, base.type, base.at, visit,
					    context);
	}
	walk->depth--;
	return done;
}

struct looked_for {
	struct walk *walk;
	uint64_t byte;
};

static bool in_base(void *context, const struct base *base)
{
	struct looked_for *what = context;

	return what->byte >= base->at &&
	       what->byte - base->at < base->type->size &&
	       in_class(what->walk, base->type, base->at,
			what->byte - base->at);
}

/* @at: where @type starts in the subject. */
static bool in_type(struct walk *walk, struct type *type, uint64_t at,
		    uint64_t offset)
{
	struct looked_for what = { walk, at + offset };
	size_t before = walk->used;
	bool done = true;

	if (type->kind == TYPE_PLAIN || type->kind == TYPE_POINTER)
		return true;
	if (walk->depth++ > MAX_DEPTH || walk->steps > MAX_STEPS)
		done = false;
	else if (type->kind == TYPE_ARRAY)
		done = in_array(walk, type, at, offset);
	else if (!in_class(walk, type, at, offset) &&
		 !virtual_base(walk, type, at, in_base, &what)) {
		cut(walk, before);
		if (!type->fields || offset >= type->size)
			done = type->size && offset < type->size;
		else
			put_name(walk, "<padding>");
	}
	walk->depth--;
	return done;
}

bool member_path(struct type *type, uint64_t offset,
		 const struct subject *subject, char *ret, size_t room)
{
	struct walk walk = { .subject = subject, .text = ret, .room = room };

	*ret = '\0';
	return in_type(&walk, type, 0, offset);
}

struct search {
	struct walk walk;
	struct extent *extent;
	size_t count, max;
	const char *path;
};

static void find(struct search *search, struct type *type, uint64_t at,
		 const char *path);

static void found(struct search *search, struct type *type, uint64_t at,
		  uint64_t size)
{
	for (size_t i = 0; i < search->count && i < search->max; i++)
		if (search->extent[i].offset == at &&
		    search->extent[i].size == size)
			return;
	if (search->count < search->max)
		search->extent[search->count] =
			(struct extent){ at, size, type };
	search->count++;
}

/* "[3]" for each dimension, or fewer: then it is a row of them. */
static void find_element(struct search *search, struct type *type, uint64_t at,
			 const char *path)
{
	struct type *element = type_target(type);
	uint64_t size = element ? element->size : 0;
	unsigned i = 0;

	for (unsigned k = 1; k < type->dimensions; k++)
		size *= type->dimension[k] ? type->dimension[k] : 1;
	for (; size && *path == '[' && i < type->dimensions; i++) {
		char *end;
		uint64_t number;

		if (!isdigit((unsigned char)path[1]))
			return;
		number = strtoull(path + 1, &end, 10);
		if (*end != ']' || number > INT64_MAX / size ||
		    (type->dimension[i] && number >= type->dimension[i]))
			return;
		at += number * size;
		path = end + 1;
		if (i + 1 < type->dimensions && type->dimension[i + 1])
			size /= type->dimension[i + 1];
	}
	if (!size || !i)
		return;
	if (i == type->dimensions)
		find(search, element, at, path);
	else if (!*path)
		found(search, NULL, at, size * type->dimension[i]);
}

static void find_name(struct search *search, struct type *type, uint64_t at,
		      const char *path)
{
	size_t size = strcspn(path, ".[");

	type_load(type);
	if (search->walk.depth++ > MAX_DEPTH) {
		search->walk.depth--;
		return;
	}
	for (unsigned i = 0; i < type->fields; i++) {
		const struct field *field = &type->field[i];
		uint64_t place = at + field->offset;
		const char *name = field->vptr ? "<vptr>" : field->name;

		if (++search->walk.steps > MAX_STEPS)
			break;
		if (field->kind == FIELD_VIRTUAL &&
		    !shift_of(&search->walk, field, at, &place))
			continue;
		if (!name)
			find_name(search, field->type, place, path);
		else if (strncmp(name, path, size) != 0 || name[size])
			continue;
		else if (!path[size])
			found(search, field->type, place, field->size);
		else
			find(search, field->type, place, path + size);
	}
	search->walk.depth--;
}

static void find(struct search *search, struct type *type, uint64_t at,
		 const char *path)
{
	if (!*path)
		found(search, type, at, type->size);
	else if (type->kind == TYPE_ARRAY && *path == '[')
		find_element(search, type, at, path);
	else if (type->kind == TYPE_CLASS)
		find_name(search, type, at, path + (*path == '.'));
}

size_t member_find(struct type *type, const char *path,
		   const struct subject *subject, struct extent *ret,
		   size_t max)
{
	struct search search = {
		.walk = { .subject = subject },
		.extent = ret,
		.max = max,
	};

	find(&search, type, 0, path);
	return search.count;
}
