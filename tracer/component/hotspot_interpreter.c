/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/hotspot_stack.h"

/*
 * Frames of the interpreter (frame_x86.hpp), by the frame pointer: below it
 * the caller's sp, before which arguments were made room for; the method; and
 * the bytecode that runs, which is only stored when something is called.
 */
enum {
	SENDER_SP = -8,
	METHOD = -24,
	BCP = -64,
	FRAME = 72,	  /* bytes below the frame pointer, at least */
	SEARCH = 1 << 16, /* bytes of a frame's expressions and locks */
	CHUNK = 64,	  /* words */
	MAX_CODELET = 1 << 18,
	PROLOGUE = 1024,
};

/* A piece of the interpreter. */
struct java_codelet {
	uint64_t start, end;
	uint64_t framed; /* from here on it has a frame; @end: never */
};

bool hotspot_in_interpreter(const struct hotspot *hotspot, uint64_t ip)
{
	return ip >= hotspot->interpreter && ip < hotspot->interpreter_end;
}

/* Where a method's entry has made the frame, up to the caller's sp in it. */
static uint64_t find_prologue(struct hotspot *hotspot, uint64_t start,
			      uint64_t end)
{
	/* push rbp; mov rbp, rsp; push r13 */
	static const uint8_t code[] = { 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55 };
	uint8_t bytes[PROLOGUE];
	size_t size = min_u64(end - start, sizeof(bytes));
	const uint8_t *found;

	if (pages_read(hotspot->pages, start, bytes, size) < 0)
		return end;
	found = memmem(bytes, size, code, sizeof(code));
	return found ? start + (uint64_t)(found - bytes) + sizeof(code) : end;
}

static bool read_codelet(struct hotspot *hotspot, uint64_t addr,
			 struct java_codelet *ret)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint32_t size, bytecode;
	char name[COMPONENT_NAME];
	uint64_t text;

	if (!hotspot_int(hotspot, addr + at->codelet_size, &size) || !size ||
	    size > MAX_CODELET ||
	    !hotspot_int(hotspot, addr + at->codelet_bytecode, &bytecode) ||
	    !hotspot_word(hotspot, addr + at->codelet_name, &text) ||
	    !hotspot_text(hotspot, text, name, sizeof(name)))
		return false;
	*ret = (struct java_codelet){ .start = addr, .end = addr + size };
	/* a bytecode has one, and what an entry makes is its own */
	ret->framed = ret->end;
	if ((int32_t)bytecode >= 0)
		ret->framed = addr;
	else if (strstr(name, "method entry"))
		ret->framed = find_prologue(hotspot, addr, ret->end);
	return true;
}

/* They are made when the machine starts, and stay. */
static void read_codelets(struct hotspot *hotspot)
{
	const struct hotspot_layout *at = &hotspot->at;
	uint64_t addr = hotspot->interpreter, end;
	uint32_t used;
	uint64_t queue;

	if (at->codelet_size < 0 || at->codelet_name < 0 ||
	    at->codelet_bytecode < 0 || at->queue_end < 0 ||
	    !hotspot_word(hotspot, at->interpreter, &queue) ||
	    !hotspot_int(hotspot, queue + at->queue_end, &used))
		return;
	if (!hotspot->codelet)
		hotspot->codelet =
			calloc(JAVA_CODELETS, sizeof(*hotspot->codelet));
	if (!hotspot->codelet)
		return;
	if (hotspot->codelets)
		addr = hotspot->codelet[hotspot->codelets - 1].end;
	end = min_u64(hotspot->interpreter + used, hotspot->interpreter_end);
	while (addr < end && hotspot->codelets < JAVA_CODELETS) {
		struct java_codelet *codelet =
			&hotspot->codelet[hotspot->codelets];

		if (!read_codelet(hotspot, addr, codelet))
			break;
		hotspot->codelets++;
		addr = codelet->end;
	}
}

static const struct java_codelet *find_codelet(const struct hotspot *hotspot,
					       uint64_t ip)
{
	for (size_t i = 0; i < hotspot->codelets; i++)
		if (ip >= hotspot->codelet[i].start &&
		    ip < hotspot->codelet[i].end)
			return &hotspot->codelet[i];
	return NULL;
}

bool hotspot_interprets(struct hotspot *hotspot, uint64_t ip, bool is_return)
{
	const struct java_codelet *codelet;

	if (!hotspot_in_interpreter(hotspot, ip) ||
	    hotspot->at.frame_sender_sp != SENDER_SP / 8)
		return false;
	if (is_return)
		return true;
	codelet = find_codelet(hotspot, ip);
	if (!codelet) {
		read_codelets(hotspot);
		codelet = find_codelet(hotspot, ip);
	}
	return codelet && ip >= codelet->framed;
}

bool hotspot_stack(struct hotspot *hotspot, const struct memory *past,
		   uint64_t addr, uint64_t *word, size_t count)
{
	if (past)
		return memory_read(past, addr, word, 8 * count) == 0;
	return pages_words(hotspot->pages, addr, word, count);
}

bool hotspot_interpreted(struct hotspot *hotspot, const struct memory *past,
			 uint64_t rbp, uint64_t bcp,
			 struct java_interpreted *ret)
{
	const struct java_method *method;
	uint64_t addr, place;

	if (rbp % 8 || !hotspot_stack(hotspot, past, rbp + METHOD, &addr, 1))
		return false;
	method = hotspot_method_at(hotspot, addr);
	if (!method)
		return false;
	place = bcp - method->code;
	if (!bcp || place >= method->code_size) {
		if (!hotspot_stack(hotspot, past, rbp + BCP, &place, 1))
			return false;
		place -= method->code;
	}
	/* a native method has no bytecode, and none to run */
	if (place >= method->code_size && method->code_size)
		return false;
	*ret = (struct java_interpreted){
		.method = method,
		.bci = (uint32_t)place,
		.rbp = rbp,
	};
	return true;
}

/* Where the caller's sp stands, and the return address two words further. */
bool hotspot_find_interpreted(struct hotspot *hotspot,
			      const struct memory *past, uint64_t sp,
			      uint64_t cfa, uint64_t ip,
			      struct java_interpreted *ret)
{
	uint64_t word[CHUNK + 2];
	uint64_t end = min_u64(cfa, sp + SEARCH);

	/* of a call through a method handle it may be the address's slot */
	for (uint64_t at = sp; at + 16 <= end; at += 8 * CHUNK) {
		size_t n = min_u64(CHUNK, (end - at) / 8 - 1);

		if (!hotspot_stack(hotspot, past, at, word, n + 2))
			return false;
		for (size_t i = 0; i < n; i++) {
			uint64_t rbp = at + 8 * i - SENDER_SP;

			if (word[i] != cfa || (ip && word[i + 2] != ip) ||
			    rbp - sp < FRAME - 8)
				continue;
			if (hotspot_interpreted(hotspot, past, rbp, 0, ret))
				return true;
		}
	}
	return false;
}
