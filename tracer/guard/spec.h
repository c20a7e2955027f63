/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * spec - the text behind -w, taken apart
 *
 *	SYMBOL  LIB:SYMBOL  0xADDR+LEN  0xADDR..0xADDR  class:GLOB
 *	SYMBOL.member[3]  class:GLOB.member
 *	map:heap|data|bss|stack|anon|PATHGLOB
 *
 * Pure: says what was asked for, not whether it exists.  "::" never separates
 * LIB from SYMBOL.
 * Where a member begins only symbols and classes tell, so that it stays in the
 * name until somebody knows them.
 */

#include "base/error.h"

enum spec_kind {
	SPEC_SYMBOL,
	SPEC_RANGE,
	SPEC_CLASS,
	SPEC_MAP,
};

enum spec_map {
	SPEC_MAP_HEAP,	/* [heap] and the allocator's other arenas */
	SPEC_MAP_DATA,	/* writable file-backed data of the modules */
	SPEC_MAP_BSS,	/* their zero-initialised rest */
	SPEC_MAP_STACK, /* [stack], and where other threads have theirs */
	SPEC_MAP_ANON,	/* other private anonymous memory */
	SPEC_MAP_PATH,	/* mappings whose path matches the glob */
};

struct spec {
	enum spec_kind kind;
	const char *text;    /* as given; the caller's */
	char library[256];   /* SPEC_SYMBOL: empty if none */
	char name[1024];     /* symbol, class glob or path glob */
	char member[256];    /* SPEC_CLASS, once it is known; else empty */
	uint64_t start, end; /* SPEC_RANGE, end excluded */
	enum spec_map map;
};

/* 0, or -EINVAL with the sentence: what is wrong and what helps. */
int spec_parse(const char *text, struct spec *ret,
	       struct error *err) _must_check_;

/* map: and class: are broad (sampled by default), the others narrow. */
bool spec_is_broad(const struct spec *spec);
