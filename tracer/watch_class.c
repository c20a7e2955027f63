/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "tracer/process/name_distance.h"
#include "tracer/watch_find.h"
#include "tracer/watch_member.h"

/* RTTI carries no size: without one, the object may reach this far. */
enum { OBJECT_REACH = 4096, MEMBERS_MOST = 64 };

static int want_object(void *context, const struct component *object)
{
	struct finder *finder = context;
	const char *member = finder->watch->spec[finder->spec].member;
	uint64_t size = object->size ? object->size : OBJECT_REACH;
	int r;

	if (!*member)
		return finder_want(finder, object->start, object->start + size);
	r = member_of_object(finder, object, member);
	finder->without += r == 0;
	return r < 0 ? r : 0;
}

static int class_matches(void *context, const char *name)
{
	return fnmatch(context, name, 0) == 0;
}

static bool is_class(struct finder *finder, const char *glob)
{
	return resolver_classes(finder->resolver, class_matches,
				(void *)glob) != 0;
}

/* A name with a dot that no class has may be a class and its member. */
static bool split_member(struct finder *finder, struct spec *spec)
{
	char name[sizeof(spec->name)];

	if (spec->member[0] || !strchr(spec->name, '.') ||
	    is_class(finder, spec->name))
		return false;
	strcpy(name, spec->name);
	for (char *dot; (dot = strrchr(name, '.')) && dot > name;) {
		*dot = '\0';
		if (!is_class(finder, name))
			continue;
		snprintf(spec->member, sizeof(spec->member), "%s",
			 spec->name + (dot + 1 - name));
		strcpy(spec->name, name);
		return true;
	}
	return false;
}

static void join_member(struct spec *spec)
{
	size_t used = strlen(spec->name);

	snprintf(spec->name + used, sizeof(spec->name) - used, ".%s",
		 spec->member);
	spec->member[0] = '\0';
}

static int find_objects(struct finder *finder, const struct spec *spec)
{
	const struct maps *maps = finder->process->maps;

	finder->without = 0;
	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *m = &maps->mapping[i];
		int r;

		if (!finder_holds_objects(finder, m))
			continue;
		r = resolver_objects(finder->resolver, m->start, m->end,
				     spec->name, want_object, finder);
		if (r < 0)
			return r;
	}
	return 0;
}

struct nearest_class {
	const char *wanted;
	unsigned far;
	char name[128];
};

static int nearer_class(void *context, const char *name)
{
	struct nearest_class *nearest = context;
	unsigned far = name_distance(nearest->wanted, name);

	if (far >= nearest->far)
		return 0;
	nearest->far = far;
	snprintf(nearest->name, sizeof(nearest->name), "%s", name);
	return 0;
}

static int no_such_class(struct finder *finder, const struct spec *spec)
{
	struct nearest_class nearest = { .wanted = spec->name,
					 .far = NAME_FAR };

	resolver_classes(finder->resolver, nearer_class, &nearest);
	return error_set(finder->err, -ENOENT,
			 "no class matches '%s' in the program or its "
			 "libraries; %s%s%s",
			 spec->name, nearest.name[0] ? "did you mean " : "",
			 nearest.name[0] ? nearest.name
					 : "a class needs a virtual function "
					   "to be found",
			 nearest.name[0] ? "?" : "");
}

static bool is_class_spec(const struct watch *watch, size_t i)
{
	return watch->spec[i].kind == SPEC_CLASS;
}

int finder_births(struct finder *finder)
{
	const struct watch *watch = finder->watch;
	const struct maps *maps = finder->process->maps;
	size_t spec = 0;
	int r = 0;

	while (spec < watch->nspecs && !is_class_spec(watch, spec))
		spec++;
	for (size_t i = 0; r == 0 && spec < watch->nspecs && i < maps->count;
	     i++) {
		const struct mapping *m = &maps->mapping[i];

		if (finder_holds_objects(finder, m))
			r = ranges_add(&finder->watch->bytes, m->start, m->end,
				       spec);
	}
	return r;
}

static bool has_member_at(struct resolver *resolver,
			  const struct component *object, const char *member,
			  uint64_t addr, uint64_t size)
{
	struct extent extent[MEMBERS_MOST];
	size_t count =
		resolver_member(resolver, object, member, extent, MEMBERS_MOST);

	size_t length = strlen(member);

	/* Of some only their runtime's own resolver tells, by its name. */
	if (!count)
		return !strncmp(object->member, member, length) &&
		       strchr(".[", object->member[length]);
	for (size_t i = 0; i < count && i < MEMBERS_MOST; i++) {
		uint64_t start = object->start + extent[i].offset;

		if (addr < start + extent[i].size && start < addr + size)
			return true;
	}
	return false;
}

/*
 * A class that is made while the program runs was not known when the spec was
 * read: what stands behind a dot may be a member.
 */
static bool is_split_so(const struct spec *spec, struct resolver *resolver,
			const struct component *object, uint64_t addr,
			uint64_t size)
{
	char name[sizeof(spec->name)];

	strcpy(name, spec->name);
	for (char *dot; (dot = strrchr(name, '.')) && dot > name;) {
		*dot = '\0';
		if (fnmatch(name, object->name, 0) == 0 &&
		    has_member_at(resolver, object,
				  spec->name + (dot + 1 - name), addr, size))
			return true;
	}
	return false;
}

/* By what is there at the time of the access. */
static bool is_wanted_object(const struct spec *spec, struct resolver *resolver,
			     const struct component *component, uint64_t addr,
			     uint64_t size)
{
	if (spec->kind != SPEC_CLASS || strcmp(component->kind, "object") != 0)
		return false;
	if (fnmatch(spec->name, component->name, 0) == 0)
		return !*spec->member ||
		       has_member_at(resolver, component, spec->member, addr,
				     size);
	return !*spec->member &&
	       is_split_so(spec, resolver, component, addr, size);
}

bool watch_wants(struct watch *watch, int spec, struct resolver *resolver,
		 const struct component *component, uint64_t addr,
		 uint64_t size)
{
	bool wanted = false;

	if ((size_t)spec >= watch->nspecs ||
	    !is_class_spec(watch, (size_t)spec))
		return true;
	if (!watch->births)
		return fnmatch(watch->spec[spec].name, component->name, 0) == 0;
	for (size_t i = 0; i < watch->nspecs; i++) {
		if (!is_wanted_object(&watch->spec[i], resolver, component,
				      addr, max_u64(size, 1)))
			continue;
		watch->met[i] = true;
		wanted = true;
	}
	return wanted;
}

int finder_class(struct finder *finder, struct spec *spec)
{
	size_t *found = &finder->watch->found[finder->spec];
	int r = find_objects(finder, spec);

	if (r == 0 && !*found && split_member(finder, spec)) {
		r = find_objects(finder, spec);
		/* It may be a class yet that has a dot. */
		if (r == 0 && !*found && resolver_grows(finder->resolver))
			join_member(spec);
	}
	if (r < 0 || *found || !finder->err || resolver_grows(finder->resolver))
		return r;
	if (finder->without)
		return error_set(finder->err, -ENOENT,
				 "'%s' has no member '%s' that debug "
				 "information tells of",
				 spec->name, spec->member);
	if (!is_class(finder, spec->name))
		return no_such_class(finder, spec);
	return 0;
}
