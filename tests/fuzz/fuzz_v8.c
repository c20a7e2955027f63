/* SPDX-License-Identifier: Apache-2.0 */
/* Any memory as that of V8's objects, with the constants of node 20. */
#include "tests/fuzz/runtime.h"
#include "tracer/component/v8.h"

static const int fact[V8_FACTS] = {
	[V8_TAG] = 1,
	[V8_MAP_SIZE] = 8,
	[V8_MAP_INOBJECT] = 9,
	[V8_MAP_TYPE] = 12,
	[V8_MAP_BITS] = 16,
	[V8_MAP_PROTOTYPE] = 24,
	[V8_MAP_CONSTRUCTOR] = 32,
	[V8_MAP_DESCRIPTORS] = 40,
	[V8_DICTIONARY] = 21,
	[V8_OWN_SHIFT] = 10,
	[V8_OWN_MASK] = 1047552,
	[V8_FUNCTION_SHARED] = 24,
	[V8_SHARED_NAME] = 16,
	[V8_STRING_LENGTH] = 12,
	[V8_STRING_CHARS] = 16,
	[V8_CONS_FIRST] = 16,
	[V8_THIN_ACTUAL] = 16,
	[V8_TYPE_MAP] = 255,
	[V8_TYPE_OBJECT] = 1057,
	[V8_TYPE_ARRAY] = 2113,
	[V8_TYPE_FIXED] = 175,
	[V8_TYPE_BYTES] = 190,
	[V8_TYPE_DOUBLES] = 192,
	[V8_TYPE_PROPERTIES] = 259,
	[V8_FIRST_NONSTRING] = 128,
	[V8_FIRST_CONTEXT] = 205,
	[V8_LAST_CONTEXT] = 214,
	[V8_REPRESENTATION] = 7,
	[V8_ONE_BYTE] = 8,
	[V8_DESCRIPTORS_START] = 24,
	[V8_INDEX_SHIFT] = 19,
	[V8_INDEX_MASK] = 536346624,
	[V8_LOCATION_MASK] = 32,
	[V8_PROPERTIES] = 8,
	[V8_ELEMENTS] = 16,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct v8 *v8 = calloc(1, sizeof(*v8));
	struct image image;

	expect(v8);
	image_open(&image, data, size);
	v8->view = &image.view;
	v8->walked = UINT32_MAX;
	v8->first_object = 1041;
	memcpy(v8->fact, fact, sizeof(fact));
	v8->type[255] = strdup("Map");
	v8->type[261] = strdup("ScopeInfo");
	v8->type[262] = strdup("SharedFunctionInfo");
	v8->type[2066] = strdup("JSFunction");
	image_ask(&image, &runtime_v8, v8);
	runtime_v8.close(v8);
	return 0;
}
