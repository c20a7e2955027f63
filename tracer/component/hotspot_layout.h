/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * hotspot_layout - where things lie in one build of libjvm.so
 *
 * Offsets in structures, addresses of variables, values of constants and sizes
 * of types, as its tables tell them.  The list is in hotspot_places.c.
 */

#include "base/macro.h"

enum { HOTSPOT_NONE = -1 }; /* this build does not tell */

struct hotspot_layout {
	int64_t klass_layout, klass_name, klass_supers, klass_super, klass_next;
	int64_t fields, fields_stream, fields_count, constants, methods;
	int64_t symbol_length, symbol_body, vm_symbols;
	int64_t pool_size, pool_holder, pool_cache, cache_pool;
	int64_t method_const, method_data, method_counters, method_size;
	int64_t const_constants, const_size, const_name, const_code;
	int64_t const_method_size, const_flags;
	int64_t data_method, data_size;
	int64_t loaders, loader_next, loader_klasses;
	int64_t object_class, mirror_klass, mirror_size;

	int64_t heap, reserved, region_start, region_words;
	int64_t collections, collecting;
	int64_t narrow_base, narrow_shift, hash_shift, hash_bits, klass_shift;
	int64_t flags, flags_count, flag_size, flag_name, flag_addr;

	int64_t threads, threads_length, threads_array, thread_piece;
	int64_t piece_start, piece_top, piece_end, piece_reserve;

	int64_t g1_manager, g1_regions, g1_base, g1_shift;
	int64_t g1_bottom, g1_top, g1_end, g1_type, g1_single, g1_continues;
	int64_t serial_young, serial_old;
	int64_t serial_eden, serial_from, serial_to, serial_tenured;
	int64_t space_bottom, space_end, space_top;
	int64_t parallel_young, parallel_old;
	int64_t parallel_eden, parallel_from, parallel_to, parallel_tenured;
	int64_t mutable_bottom, mutable_end, mutable_top;

	int64_t code_heaps, array_length, array_data, code_low, code_high;
	int64_t heap_memory, heap_segments, heap_shift, virtual_low,
		virtual_high, block_size;
	int64_t blob_name, blob_size, code_method, shared_base, shared_top;
	int64_t interpreter, stubs, stubs_size, version;
	int64_t pool_length, counters_size;

	int64_t blob_frame, blob_complete, blob_code, blob_code_offset;
	int64_t nmethod_id, nmethod_entry, nmethod_entry_offset;
	int64_t nmethod_stubs, nmethod_deopt[2], nmethod_deopt_offset[2];
	int64_t nmethod_pc, nmethod_pcs, nmethod_dependencies;
	int64_t nmethod_scopes, nmethod_scopes_offset, nmethod_metadata;
	int64_t nmethod_immutable, blob_mutable, blob_relocations;
	int64_t pc_size, pc_offset, pc_scope;
	int64_t entry_return, codelet_size, codelet_name, codelet_bytecode;
	int64_t queue_begin, queue_end, pool_file, lines_flag;
	int64_t frame_sender_sp;
};

/* A value of it, and the names that it has in the tables of some version. */
struct hotspot_place {
	size_t at; /* in struct hotspot_layout */
	const char *name[3];
};

extern const struct hotspot_place hotspot_places[];
extern const size_t hotspot_places_count;

struct pages;
struct symbols;

/*
 * Fill *ret from the tables of libjvm.so.  0; -EAGAIN: they are not there yet;
 * -ENOENT, -EBADMSG: they are none that can be used.
 */
int hotspot_layout_read(struct pages *pages, struct symbols *symbols,
			struct hotspot_layout *ret) _must_check_;
