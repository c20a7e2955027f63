/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/cpython.h"

#define MAX_OBJECT (UINT64_C(1) << 36)

static uint64_t end_of(const struct py_object *object)
{
	return object->size ? object->addr + object->size : object->block.end;
}

/* Its id() is where it starts; of what lies before, where that does. */
static void describe(struct cpython *py, const struct py_object *object,
		     uint64_t addr, struct component *ret)
{
	ret->kind = "object";
	ret->runtime = "cpython";
	ret->start = object->addr;
	ret->size = end_of(object) - object->addr;
	if (addr < object->addr) {
		ret->start -= object->class->before;
		ret->size += object->class->before;
	}
	component_name(ret, object->class->name);
	py_member(py, object, addr, ret->member, sizeof(ret->member));
}

static bool covers(const struct py_object *object, uint64_t addr)
{
	return addr + object->class->before >= object->addr &&
	       addr < end_of(object);
}

static bool by_register(struct cpython *py, const struct query *query,
			struct component *ret)
{
	struct py_object object;

	for (unsigned i = 0; i < query->ncandidates; i++) {
		uint64_t start = query->candidates[i];

		if (start > query->addr + 32 ||
		    (start < query->addr && query->addr - start > MAX_OBJECT))
			continue;
		if (!py_object_at(py, start, &object) ||
		    !covers(&object, query->addr))
			continue;
		ret->how = "ob_type";
		ret->confidence = object.block.kind == PY_STATIC
					  ? CONFIDENCE_LIKELY
					  : CONFIDENCE_EXACT;
		describe(py, &object, query->addr, ret);
		py_learn(py, &object);
		return true;
	}
	return false;
}

/* obmalloc rounds up to 16. */
static bool is_exact(const struct py_object *object)
{
	uint64_t end = end_of(object);

	return object->block.kind == PY_STATIC ||
	       (object->size && object->block.kind == PY_POOL &&
		object->block.end - end < 16);
}

static bool by_block(struct cpython *py, const struct query *query,
		     const struct py_block *block, struct component *ret)
{
	static const char *const how[] = { "none", "pool", "chunk", "symbol" };
	struct py_object object;
	bool found;

	if (block->kind == PY_STATIC)
		found = py_object_at(py, block->start, &object);
	else
		found = py_object_in(py, block, &object);
	if (!found || !covers(&object, query->addr))
		return false;
	ret->how = how[block->kind];
	ret->confidence =
		is_exact(&object) ? CONFIDENCE_EXACT : CONFIDENCE_LIKELY;
	describe(py, &object, query->addr, ret);
	py_learn(py, &object);
	return true;
}

/* Nobody's that we know: more than a mapping, at least. */
static void by_pool(struct cpython *py, const struct py_block *block,
		    struct component *ret)
{
	struct py_keys keys;

	ret->kind = "block";
	ret->runtime = "cpython";
	ret->how = "pool";
	ret->confidence = CONFIDENCE_LIKELY;
	ret->start = block->start;
	ret->size = block->end - block->start;
	if (block->head)
		component_name(ret, "pool header");
	else if (py_is_free(py, block))
		component_name(ret, "free pool block");
	else if (py_keys(py, block->start, &keys) && keys.end <= block->end)
		component_name(ret, "dict keys");
	else
		component_name(ret, "pool block");
}

static void resolve(void *state, const struct query *query,
		    struct component *ret)
{
	struct cpython *py = state;
	struct py_block block;

	if (view_on_stack(py->view, query))
		return;
	py_dies(py, query);
	if (!by_register(py, query, ret)) {
		block = py_block_of(py, query->addr);
		if (block.kind == PY_NOWHERE) {
			py_stack(py, query, ret);
			return;
		}
		if (!by_block(py, query, &block, ret) &&
		    (block.kind == PY_STATIC ||
		     !py_owned(py, query, &block, ret)) &&
		    (block.kind == PY_STATIC ||
		     !py_matching(py, query, &block, ret)) &&
		    block.kind == PY_POOL)
			by_pool(py, &block, ret);
	}
	/* What a store to the class's address will make of it is not known. */
	if (query->write && query->addr - ret->start - 8 < 8 &&
	    ret->confidence == CONFIDENCE_EXACT)
		ret->confidence = CONFIDENCE_LIKELY;
}

static void close_py(void *state)
{
	struct cpython *py = state;

	py_classes_forget(py);
	py_codes_forget(py);
	table_done(&py->owners);
	free(py);
}

static int open_py(const struct view *view, void **ret)
{
	static const char *const name[] = { "libpython3", "python3", "python" };
	struct cpython *py = calloc(1, sizeof(*py));

	if (!py)
		return -ENOMEM;
	py->view = view;
	for (size_t i = 0; i < ARRAY_SIZE(name); i++) {
		const struct module *module = view_module(view, name[i]);

		if (module && py_find(py, module)) {
			*ret = py;
			return 0;
		}
	}
	free(py);
	return -ENOENT;
}

static void about(void *state, struct runtime_info *ret)
{
	const struct cpython *py = state;

	ret->module = py->module;
	if (py->version)
		snprintf(ret->version, sizeof(ret->version), "%u.%u.%u",
			 py->version >> 24, py->version >> 16 & 0xff,
			 py->version >> 8 & 0xff);
	else if (!py->reason)
		snprintf(ret->version, sizeof(ret->version), "3.%u",
			 py->layout.minor);
	if (py->reason)
		snprintf(ret->reason, sizeof(ret->reason), "%s", py->reason);
	ret->tells =
		TELLS_CLASSES | TELLS_MEMBERS | TELLS_OBJECTS | TELLS_FRAMES;
}

static void epoch(void *state)
{
	struct cpython *py = state;

	py->epoch++;
}

static void remap(void *state)
{
	struct cpython *py = state;

	py->epoch++;
	py->remaps++;
}

const struct runtime runtime_cpython = {
	.name = "cpython",
	.grows = true,
	.open = open_py,
	.close = close_py,
	.about = about,
	.resolve = resolve,
	.epoch = epoch,
	.remap = remap,
	.each = py_each,
	.classes = py_class_names,
	.frames = py_frames,
};
