/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/text.h"
#include "tracer/component/v8.h"

/* As tools/gen-postmortem-metadata.py of V8 calls them. */
static const char *const fact_name[V8_FACTS] = {
	[V8_TAG] = "HeapObjectTag",
	[V8_MAP_SIZE] = "class_Map__instance_size_in_words__char",
	[V8_MAP_INOBJECT] = ("class_Map__inobject_properties_start_or_"
			     "constructor_function_index__char"),
	[V8_MAP_TYPE] = "class_Map__instance_type__uint16_t",
	[V8_MAP_BITS] = "class_Map__bit_field3__int",
	[V8_MAP_PROTOTYPE] = "class_Map__prototype__HeapObject",
	[V8_MAP_CONSTRUCTOR] = "class_Map__constructor_or_back_pointer__Object",
	[V8_MAP_DESCRIPTORS] =
		"class_Map__instance_descriptors__DescriptorArray",
	[V8_DICTIONARY] = "bit_field3_is_dictionary_map_shift",
	[V8_OWN_SHIFT] = "bit_field3_number_of_own_descriptors_shift",
	[V8_OWN_MASK] = "bit_field3_number_of_own_descriptors_mask",
	[V8_FUNCTION_SHARED] = "class_JSFunction__shared__SharedFunctionInfo",
	[V8_SHARED_NAME] =
		"class_SharedFunctionInfo__name_or_scope_info__Object",
	[V8_STRING_LENGTH] = "class_String__length__int32_t",
	[V8_STRING_CHARS] = "class_SeqOneByteString__chars__char",
	[V8_CONS_FIRST] = "class_ConsString__first__String",
	[V8_THIN_ACTUAL] = "class_ThinString__actual__String",
	[V8_TYPE_MAP] = "type_Map__MAP_TYPE",
	[V8_TYPE_OBJECT] = "type_JSObject__JS_OBJECT_TYPE",
	[V8_TYPE_ARRAY] = "type_JSArray__JS_ARRAY_TYPE",
	[V8_TYPE_FIXED] = "type_FixedArray__FIXED_ARRAY_TYPE",
	[V8_TYPE_BYTES] = "type_ByteArray__BYTE_ARRAY_TYPE",
	[V8_TYPE_DOUBLES] = "type_FixedDoubleArray__FIXED_DOUBLE_ARRAY_TYPE",
	[V8_TYPE_PROPERTIES] = "type_PropertyArray__PROPERTY_ARRAY_TYPE",
	[V8_FIRST_NONSTRING] = "FirstNonstringType",
	[V8_FIRST_CONTEXT] = "FirstContextType",
	[V8_LAST_CONTEXT] = "LastContextType",
	[V8_REPRESENTATION] = "StringRepresentationMask",
	[V8_ONE_BYTE] = "StringEncodingMask",
	[V8_DESCRIPTORS_START] =
		"class_DescriptorArray__header_size__uintptr_t",
	[V8_INDEX_SHIFT] = "prop_index_shift",
	[V8_INDEX_MASK] = "prop_index_mask",
	[V8_LOCATION_MASK] = "prop_location_mask",
	[V8_PROPERTIES] = "class_JSReceiver__raw_properties_or_hash__Object",
	[V8_ELEMENTS] = "class_JSObject__elements__Object",
};

static bool read_int(struct v8 *v8, const char *name, int *ret)
{
	char text[128];
	struct symbol symbol;

	snprintf(text, sizeof(text), "v8dbg_%s", name);
	return symbols_named(v8->view->world->symbols, v8->module->name, text,
			     &symbol, 1) &&
	       pages_read(v8->view->pages, symbol.addr, ret, sizeof(*ret)) == 0;
}

/* "v8dbg_type_JSArray__JS_ARRAY_TYPE" */
static int add_type(void *context, const struct symbol *symbol)
{
	struct v8 *v8 = context;
	const char *name = symbol->name + strlen("v8dbg_type_");
	const char *end = strstr(name, "__");
	int number;

	if (symbol->module != v8->module || !end ||
	    pages_read(v8->view->pages, symbol->addr, &number, sizeof(number)) <
		    0 ||
	    number < 0 || number >= V8_TYPES || v8->type[number])
		return 0;
	v8->type[number] = strndup(name, (size_t)(end - name));
	if (!strncmp(name, "JS", 2) && (unsigned)number < v8->first_object)
		v8->first_object = (unsigned)number;
	return 0;
}

static void read_version(struct v8 *v8)
{
	struct symbol symbol;
	uint64_t text;

	if (symbols_named(v8->view->world->symbols, v8->module->name,
			  "_ZN2v88internal7Version15version_string_E", &symbol,
			  1) &&
	    pages_words(v8->view->pages, symbol.addr, &text, 1) &&
	    !text_read(v8->view->pages, text, v8->version, sizeof(v8->version)))
		v8->version[0] = '\0';
}

/* Offsets and masks that are used without further ado. */
static bool are_sane(const struct v8 *v8)
{
	static const enum v8_fact offset[] = {
		V8_MAP_SIZE,	    V8_MAP_INOBJECT,	  V8_MAP_TYPE,
		V8_MAP_BITS,	    V8_MAP_PROTOTYPE,	  V8_MAP_CONSTRUCTOR,
		V8_MAP_DESCRIPTORS, V8_FUNCTION_SHARED,	  V8_SHARED_NAME,
		V8_STRING_LENGTH,   V8_STRING_CHARS,	  V8_CONS_FIRST,
		V8_THIN_ACTUAL,	    V8_DESCRIPTORS_START,
	};

	for (size_t i = 0; i < ARRAY_SIZE(offset); i++)
		if (v8->fact[offset[i]] < 0 || v8->fact[offset[i]] > 128)
			return false;
	return v8->fact[V8_TAG] == 1 && v8->fact[V8_PROPERTIES] == 8 &&
	       v8->fact[V8_ELEMENTS] == 16 &&
	       (unsigned)v8->fact[V8_DICTIONARY] < 32 &&
	       (unsigned)v8->fact[V8_OWN_SHIFT] < 32 &&
	       (unsigned)v8->fact[V8_INDEX_SHIFT] < 32;
}

int v8_read_facts(struct v8 *v8)
{
	struct symbols *symbols = v8->view->world->symbols;
	struct symbol symbol;

	if (!symbols_named(symbols, v8->module->name, "_ZN2v82V810GetVersionEv",
			   &symbol, 1) &&
	    !symbols_named(symbols, v8->module->name, "v8dbg_HeapObjectTag",
			   &symbol, 1))
		return -ENOENT;
	read_version(v8);
	v8->first_object = UINT32_MAX;
	for (unsigned i = 0; i < V8_FACTS; i++) {
		if (read_int(v8, fact_name[i], &v8->fact[i]))
			continue;
		v8->reason = "it was built without the constants v8dbg_... "
			     "that tell how objects lie in memory";
		return 0;
	}
	symbols_each(symbols, "v8dbg_type_", add_type, v8);
	if (!are_sane(v8))
		v8->reason = "its constants v8dbg_... are not those of a V8 "
			     "that is known: compressed pointers?";
	return 0;
}

void v8_free_facts(struct v8 *v8)
{
	for (size_t i = 0; i < V8_TYPES; i++)
		free(v8->type[i]);
}
