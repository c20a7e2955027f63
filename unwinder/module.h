/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * module - the table of ELF modules, and where their unwind tables lie
 *
 * Tables are looked at when the first address of a module is asked for, and
 * what they say is believed only inside the module.
 */

#include "unwinder/unwinder.h"

enum module_state {
	MODULE_UNREAD,
	MODULE_WITHOUT, /* nothing to search in */
	MODULE_TABLES,
};

struct module {
	struct unwinder_module extent;
	enum module_state state;
	uint64_t table;	  /* sorted (text, FDE) pairs, of int32_t each */
	uint64_t entries; /* how many pairs */
	uint64_t tables_start, tables_end; /* .eh_frame_hdr and .eh_frame */
};

struct modules {
	struct module *list; /* sorted by extent.start */
	size_t count;
};

void modules_done(struct modules *modules);
int modules_set(struct modules *modules, const struct unwinder_module *list,
		size_t count) _must_check_;

/* NULL if @addr is in no module. */
struct module *modules_find(const struct modules *modules, uint64_t addr);

/* Look at the tables, once.  0, or -errno (not -EFAULT) of @memory. */
int module_load(struct module *module,
		const struct memory *memory) _must_check_;

/* Do these bytes stay as they are for as long as the module is there? */
bool module_is_fixed(const struct module *module, uint64_t addr);
