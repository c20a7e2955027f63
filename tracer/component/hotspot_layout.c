/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/table.h"
#include "tracer/component/hotspot_layout.h"
#include "tracer/component/pages.h"
#include "tracer/process/symbols.h"

enum { MAX_ENTRIES = 16384, MAX_WORD = 160 };

/* A value that libjvm.so tells, by the hash of its name. */
struct entry {
	uint64_t hash, value;
};

struct reader {
	struct pages *pages;
	struct symbols *symbols;
	struct entry *entry;
	size_t count, capacity;
};

#define AT(field, ...)                                                         \
	{                                                                      \
		offsetof(struct hotspot_layout, field),                        \
		{                                                              \
			__VA_ARGS__                                            \
		}                                                              \
	}

/* Later versions renamed some. */
static const struct {
	size_t at;
	const char *name[3];
} places[] = {
	AT(klass_layout, "Klass::_layout_helper"),
	AT(klass_name, "Klass::_name"),
	AT(klass_supers, "Klass::_primary_supers[0]"),
	AT(klass_super, "Klass::_super"),
	AT(klass_next, "Klass::_next_link"),
	AT(fields, "InstanceKlass::_fields"),
	AT(fields_stream, "InstanceKlass::_fieldinfo_stream"),
	AT(fields_count, "InstanceKlass::_java_fields_count"),
	AT(constants, "InstanceKlass::_constants"),
	AT(methods, "InstanceKlass::_methods"),
	AT(symbol_length, "Symbol::_length"),
	AT(symbol_body, "Symbol::_body[0]", "Symbol::_body"),
	AT(vm_symbols, "Symbol::_vm_symbols[0]", "vmSymbols::_symbols[0]"),
	AT(pool_size, "sizeof ConstantPool"),
	AT(pool_holder, "ConstantPool::_pool_holder"),
	AT(pool_length, "ConstantPool::_length"),
	AT(counters_size, "sizeof MethodCounters"),
	AT(pool_cache, "ConstantPool::_cache"),
	AT(cache_pool, "ConstantPoolCache::_constant_pool"),
	AT(method_const, "Method::_constMethod"),
	AT(method_data, "Method::_method_data"),
	AT(method_counters, "Method::_method_counters"),
	AT(method_size, "sizeof Method"),
	AT(const_constants, "ConstMethod::_constants"),
	AT(const_size, "ConstMethod::_constMethod_size"),
	AT(const_name, "ConstMethod::_name_index"),
	AT(const_code, "ConstMethod::_code_size"),
	AT(const_method_size, "sizeof ConstMethod"),
	AT(const_flags, "ConstMethod::_flags._flags", "ConstMethod::_flags"),
	AT(data_method, "MethodData::_method"),
	AT(data_size, "MethodData::_size"),
	AT(loaders, "ClassLoaderDataGraph::_head"),
	AT(loader_next, "ClassLoaderData::_next"),
	AT(loader_klasses, "ClassLoaderData::_klasses"),
	AT(object_class,
	   "vmClasses::_klasses[static_cast<int>"
	   "(vmClassID::Object_klass_knum)]",
	   "SystemDictionary::_well_known_klasses"
	   "[SystemDictionary::Object_klass_knum]",
	   "SystemDictionary::_well_known_klasses"
	   "[SystemDictionary::WK_KLASS_ENUM_NAME(Object_klass)]"),
	AT(mirror_klass, "java_lang_Class::_klass_offset"),
	AT(mirror_size, "java_lang_Class::_oop_size_offset"),

	AT(heap, "Universe::_collectedHeap"),
	AT(reserved, "CollectedHeap::_reserved"),
	AT(region_start, "MemRegion::_start"),
	AT(region_words, "MemRegion::_word_size"),
	AT(collections, "CollectedHeap::_total_collections"),
	AT(collecting, "CollectedHeap::_is_stw_gc_active",
	   "CollectedHeap::_is_gc_active"),
	AT(narrow_base, "CompressedKlassPointers::_narrow_klass._base",
	   "CompressedKlassPointers::_base", "Universe::_narrow_klass._base"),
	AT(narrow_shift, "CompressedKlassPointers::_narrow_klass._shift",
	   "CompressedKlassPointers::_shift", "Universe::_narrow_klass._shift"),
	AT(hash_shift, "markWord::hash_shift", "markOopDesc::hash_shift"),
	AT(hash_bits, "markWord::hash_bits", "markOopDesc::hash_bits"),
	AT(klass_shift, "markWord::klass_shift"),
	AT(flags, "JVMFlag::flags"),
	AT(flags_count, "JVMFlag::numFlags"),
	AT(flag_size, "sizeof JVMFlag"),
	AT(flag_name, "JVMFlag::_name"),
	AT(flag_addr, "JVMFlag::_addr"),

	AT(threads, "ThreadsSMRSupport::_java_thread_list"),
	AT(threads_length, "ThreadsList::_length"),
	AT(threads_array, "ThreadsList::_threads"),
	AT(thread_piece, "Thread::_tlab"),
	AT(piece_start, "ThreadLocalAllocBuffer::_start"),
	AT(piece_top, "ThreadLocalAllocBuffer::_top"),
	AT(piece_end, "ThreadLocalAllocBuffer::_end"),
	AT(piece_reserve,
	   "ThreadLocalAllocBuffer::_reserve_for_allocation_prefetch"),

	AT(g1_manager, "G1CollectedHeap::_hrm"),
	AT(g1_regions, "G1HeapRegionManager::_regions",
	   "HeapRegionManager::_regions"),
	AT(g1_base, "G1HeapRegionTable::_base"),
	AT(g1_shift, "G1HeapRegion::LogOfHRGrainBytes",
	   "HeapRegion::LogOfHRGrainBytes"),
	AT(g1_bottom, "G1HeapRegion::_bottom", "HeapRegion::_bottom",
	   "Space::_bottom"),
	AT(g1_top, "G1HeapRegion::_top", "HeapRegion::_top",
	   "G1ContiguousSpace::_top"),
	AT(g1_end, "G1HeapRegion::_end", "HeapRegion::_end", "Space::_end"),
	AT(g1_type, "G1HeapRegion::_type", "HeapRegion::_type"),
	AT(g1_single, "G1HeapRegionType::StartsHumongousTag",
	   "HeapRegionType::StartsHumongousTag"),
	AT(g1_continues, "G1HeapRegionType::ContinuesHumongousTag",
	   "HeapRegionType::ContinuesHumongousTag"),
	AT(serial_young, "SerialHeap::_young_gen",
	   "GenCollectedHeap::_young_gen"),
	AT(serial_old, "SerialHeap::_old_gen", "GenCollectedHeap::_old_gen"),
	AT(serial_eden, "DefNewGeneration::_eden_space"),
	AT(serial_from, "DefNewGeneration::_from_space"),
	AT(serial_to, "DefNewGeneration::_to_space"),
	AT(serial_tenured, "TenuredGeneration::_the_space"),
	AT(space_bottom, "ContiguousSpace::_bottom", "Space::_bottom"),
	AT(space_end, "ContiguousSpace::_end", "Space::_end"),
	AT(space_top, "ContiguousSpace::_top"),
	AT(parallel_young, "ParallelScavengeHeap::_young_gen"),
	AT(parallel_old, "ParallelScavengeHeap::_old_gen"),
	AT(parallel_eden, "PSYoungGen::_eden_space"),
	AT(parallel_from, "PSYoungGen::_from_space"),
	AT(parallel_to, "PSYoungGen::_to_space"),
	AT(parallel_tenured, "PSOldGen::_object_space"),
	AT(mutable_bottom, "MutableSpace::_bottom"),
	AT(mutable_end, "MutableSpace::_end"),
	AT(mutable_top, "MutableSpace::_top"),

	AT(code_heaps, "CodeCache::_heaps"),
	AT(array_length, "GrowableArrayBase::_len",
	   "GenericGrowableArray::_len"),
	AT(array_data, "GrowableArray<int>::_data"),
	AT(code_low, "CodeCache::_low_bound"),
	AT(code_high, "CodeCache::_high_bound"),
	AT(heap_memory, "CodeHeap::_memory"),
	AT(heap_segments, "CodeHeap::_segmap"),
	AT(heap_shift, "CodeHeap::_log2_segment_size"),
	AT(virtual_low, "VirtualSpace::_low"),
	AT(virtual_high, "VirtualSpace::_high"),
	AT(block_size, "sizeof HeapBlock"),
	AT(blob_name, "CodeBlob::_name"),
	AT(blob_size, "CodeBlob::_size"),
	AT(code_method, "CompiledMethod::_method", "nmethod::_method"),
	AT(shared_base, "MetaspaceObj::_shared_metaspace_base"),
	AT(shared_top, "MetaspaceObj::_shared_metaspace_top"),
	AT(interpreter, "AbstractInterpreter::_code"),
	AT(stubs, "StubQueue::_stub_buffer"),
	AT(stubs_size, "StubQueue::_buffer_limit"),
	AT(version, "Abstract_VM_Version::_s_vm_release"),
};

static int add(struct reader *reader, const char *name, uint64_t value)
{
	if (reader->count == MAX_ENTRIES)
		return -EBADMSG;
	if (reader->count == reader->capacity) {
		size_t n = reader->capacity ? 2 * reader->capacity : 4096;
		struct entry *bigger =
			reallocarray(reader->entry, n, sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		reader->entry = bigger;
		reader->capacity = n;
	}
	reader->entry[reader->count++] =
		(struct entry){ table_hash(name, strlen(name)), value };
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->hash < y->hash ? -1 : x->hash > y->hash;
}

static int64_t value_of(const struct reader *reader, const char *name)
{
	struct entry key = { .hash = table_hash(name, strlen(name)) };
	const struct entry *found = bsearch(&key, reader->entry, reader->count,
					    sizeof(key), compare);

	return found ? (int64_t)found->value : HOTSPOT_NONE;
}

/* What one of its variables holds; 0 also if there is none. */
static uint64_t variable(const struct reader *reader, const char *name)
{
	struct symbol symbol;
	uint64_t value = 0;

	if (symbols_named(reader->symbols, "libjvm", name, &symbol, 1) != 1 ||
	    !pages_words(reader->pages, symbol.addr, &value, 1))
		return 0;
	return value;
}

/* A string of the target's at a pointer of the target's. */
static bool word_at(const struct reader *reader, uint64_t pointer, char *text,
		    size_t size)
{
	uint64_t addr;

	if (!pages_words(reader->pages, pointer, &addr, 1) || !addr)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (pages_read(reader->pages, addr + i, &text[i], 1) < 0)
			return false;
		if (!text[i])
			return true;
	}
	return false;
}

/* How an array of libjvm.so is laid out, which it tells in variables. */
struct array {
	uint64_t at, stride, name, value;
};

static struct array array_of(const struct reader *reader, const char *array,
			     const char *entry, const char *name,
			     const char *value)
{
	char text[64];
	struct array ret;

	ret.at = variable(reader, array);
	snprintf(text, sizeof(text), "%sArrayStride", entry);
	ret.stride = variable(reader, text);
	snprintf(text, sizeof(text), "%s%s", entry, name);
	ret.name = variable(reader, text);
	snprintf(text, sizeof(text), "%s%s", entry, value);
	ret.value = variable(reader, text);
	if (ret.stride < 16 || ret.stride > 256 || ret.name > 248 ||
	    ret.value > 248)
		ret.at = 0;
	return ret;
}

static int read_values(struct reader *reader, const struct array *array,
		       const char *prefix, bool is_int)
{
	uint64_t at = array->at;

	for (unsigned i = 0; at && i < MAX_ENTRIES; i++, at += array->stride) {
		char text[MAX_WORD + 8];
		size_t n = strlen(prefix);
		uint64_t value;
		int r;

		memcpy(text, prefix, n);
		if (!word_at(reader, at + array->name, text + n, MAX_WORD))
			break;
		if (!pages_words(reader->pages, at + array->value, &value, 1))
			return -EBADMSG;
		if (is_int)
			value = (uint64_t)(int64_t)(int32_t)value;
		r = add(reader, text, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_structs(struct reader *reader)
{
	static const char entry[] = "gHotSpotVMStructEntry";
	struct array array = array_of(reader, "gHotSpotVMStructs", entry,
				      "TypeNameOffset", "OffsetOffset");
	uint64_t field =
		variable(reader, "gHotSpotVMStructEntryFieldNameOffset");
	uint64_t is_static =
		variable(reader, "gHotSpotVMStructEntryIsStaticOffset");
	uint64_t addr = variable(reader, "gHotSpotVMStructEntryAddressOffset");
	uint64_t at = array.at;
	struct symbol symbol;

	if (!symbols_named(reader->symbols, "libjvm", "gHotSpotVMStructs",
			   &symbol, 1))
		return -ENOENT;
	if (!at)
		return -EAGAIN; /* its constructors are still to come */
	for (unsigned i = 0; i < MAX_ENTRIES; i++, at += array.stride) {
		char name[MAX_WORD], text[2 * MAX_WORD + 2];
		uint64_t value, flag;
		int r;

		if (!word_at(reader, at + array.name, text, MAX_WORD) ||
		    !word_at(reader, at + field, name, MAX_WORD))
			break;
		strcat(text, "::");
		strcat(text, name);
		if (!pages_words(reader->pages, at + is_static, &flag, 1) ||
		    !pages_words(reader->pages,
				 at + ((uint32_t)flag ? addr : array.value),
				 &value, 1))
			return -EBADMSG;
		r = add(reader, text, value);
		if (r < 0)
			return r;
	}
	return reader->count ? 0 : -EBADMSG;
}

static int read_all(struct reader *reader)
{
	struct array types =
		array_of(reader, "gHotSpotVMTypes", "gHotSpotVMTypeEntry",
			 "TypeNameOffset", "SizeOffset");
	struct array ints = array_of(reader, "gHotSpotVMIntConstants",
				     "gHotSpotVMIntConstantEntry", "NameOffset",
				     "ValueOffset");
	struct array longs = array_of(reader, "gHotSpotVMLongConstants",
				      "gHotSpotVMLongConstantEntry",
				      "NameOffset", "ValueOffset");
	int r = read_structs(reader);

	if (r == 0)
		r = read_values(reader, &types, "sizeof ", false);
	if (r == 0)
		r = read_values(reader, &ints, "", true);
	if (r == 0)
		r = read_values(reader, &longs, "", false);
	return r;
}

int hotspot_layout_read(struct pages *pages, struct symbols *symbols,
			struct hotspot_layout *ret)
{
	struct reader reader = { .pages = pages, .symbols = symbols };
	int r = read_all(&reader);

	if (r == 0)
		qsort(reader.entry, reader.count, sizeof(*reader.entry),
		      compare);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++) {
		int64_t value = HOTSPOT_NONE;

		for (int k = 0; k < 3 && places[i].name[k]; k++)
			if (value == HOTSPOT_NONE)
				value = value_of(&reader, places[i].name[k]);
		memcpy((char *)ret + places[i].at, &value, sizeof(value));
	}
	free(reader.entry);
	return r;
}
