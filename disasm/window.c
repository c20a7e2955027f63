/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "disasm/window.h"

static unsigned home(uint64_t addr)
{
	return addr / PAGE % (2 * WINDOWS);
}

/* Where the page at @addr is in the index, or where it is to be put. */
static uint8_t *entry(struct windows *windows, uint64_t addr)
{
	unsigned i = home(addr);

	while (windows->index[i] &&
	       windows->window[windows->index[i] - 1].addr != addr)
		i = (i + 1) % (2 * WINDOWS);
	return &windows->index[i];
}

static struct window *find(struct windows *windows, uint64_t addr)
{
	uint8_t *at = entry(windows, addr);
	struct window *window;
	int rights;

	if (*at)
		return &windows->window[*at - 1];
	if (windows->count == WINDOWS)
		return NULL;
	window = &windows->window[windows->count];
	rights = windows->load(windows->context, addr, window->bytes);
	if (rights <= 0)
		return NULL;
	*at = ++windows->count;
	window->addr = addr;
	window->rights = rights;
	window->dirty = false;
	memset(window->stored, 0, sizeof(window->stored));
	return window;
}

static struct window *allowed(struct windows *windows, uint64_t addr,
			      uint8_t rights)
{
	struct window *window = find(windows, page_down(addr));

	if (windows->watched_only)
		rights |= WINDOW_WATCHED;
	return window && (window->rights & rights) == rights ? window : NULL;
}

bool window_allows(struct windows *windows, uint64_t addr, uint64_t size,
		   uint8_t rights)
{
	uint64_t end = addr + size;

	if (end < addr || size > WINDOWS * PAGE)
		return false;
	while (addr < end) {
		if (!allowed(windows, addr, rights))
			return false;
		addr = page_down(addr) + PAGE;
	}
	return true;
}

static int window_read(void *context, uint64_t addr, void *buffer, size_t size)
{
	struct windows *windows = context;
	uint8_t *to = buffer;

	while (size > 0) {
		uint64_t offset = addr % PAGE;
		size_t part = min_u64(size, PAGE - offset);
		struct window *window = allowed(windows, addr, WINDOW_READ);

		if (!window)
			return -EFAULT;
		windows->watched |= window->rights & WINDOW_WATCHED;
		memcpy(to, window->bytes + offset, part);
		to += part;
		addr += part;
		size -= part;
	}
	return 0;
}

static void mark(struct window *window, uint64_t offset, size_t size)
{
	window->dirty = true;
	while (size > 0) {
		unsigned bit = offset % 64;
		size_t part = min_u64(size, 64 - bit);
		uint64_t mask =
			part == 64 ? UINT64_MAX : (UINT64_C(1) << part) - 1;

		window->stored[offset / 64] |= mask << bit;
		offset += part;
		size -= part;
	}
}

/*
 * What cannot be written must be known now, and not when it is flushed: the
 * bytes that are there are written as they are, once a page.
 */
static bool takes_stores(struct windows *windows, struct window *window,
			 uint64_t offset, size_t size)
{
	return window->dirty ||
	       windows->store(windows->context, window->addr + offset,
			      window->bytes + offset, size) == 0;
}

/* Can all of it be stored? */
static bool prepare(struct windows *windows, uint64_t addr, size_t size)
{
	while (size > 0) {
		uint64_t offset = addr % PAGE;
		size_t part = min_u64(size, PAGE - offset);
		struct window *window = allowed(windows, addr, WINDOW_WRITE);

		if (!window || !takes_stores(windows, window, offset, part))
			return false;
		addr += part;
		size -= part;
	}
	return true;
}

static int window_write(void *context, uint64_t addr, const void *buffer,
			size_t size)
{
	struct windows *windows = context;
	const uint8_t *from = buffer;

	if (!prepare(windows, addr, size))
		return -EFAULT;
	if (windows->stored)
		windows->stored(windows->context, addr, buffer, size);
	while (size > 0) {
		uint64_t offset = addr % PAGE;
		size_t part = min_u64(size, PAGE - offset);
		struct window *window = allowed(windows, addr, WINDOW_WRITE);

		windows->watched |= window->rights & WINDOW_WATCHED;
		windows->written = true;
		memcpy(window->bytes + offset, from, part);
		mark(window, offset, part);
		from += part;
		addr += part;
		size -= part;
	}
	return 0;
}

struct memory window_memory(struct windows *windows)
{
	return (struct memory){ windows, window_read, window_write };
}

void window_overlay(const struct windows *windows, uint64_t addr, void *buffer,
		    size_t size)
{
	for (unsigned i = 0; i < windows->count; i++) {
		const struct window *window = &windows->window[i];
		uint64_t start = max_u64(addr, window->addr);
		uint64_t end = min_u64(addr + size, window->addr + PAGE);

		if (start < end && window->dirty)
			memcpy((uint8_t *)buffer + (start - addr),
			       window->bytes + (start - window->addr),
			       end - start);
	}
}

/* The first byte from @at on that was stored (or not), or PAGE. */
static unsigned next(const struct window *window, unsigned at, bool stored)
{
	while (at < PAGE) {
		uint64_t bits = window->stored[at / 64];

		bits = (stored ? bits : ~bits) >> at % 64;
		if (bits)
			return at + (unsigned)__builtin_ctzll(bits);
		at = (at / 64 + 1) * 64;
	}
	return PAGE;
}

/*
 * Only what was stored: another process may have written to what lies between
 * (process_vm_writev(2)).
 */
static int flush(struct windows *windows, struct window *window)
{
	unsigned at = next(window, 0, true);
	int result = 0;

	while (at < PAGE) {
		unsigned end = next(window, at, false);

		result = first_error(result, windows->store(windows->context,
							    window->addr + at,
							    window->bytes + at,
							    end - at));
		at = next(window, end, true);
	}
	memset(window->stored, 0, sizeof(window->stored));
	window->dirty = false;
	return result;
}

int window_flush(struct windows *windows)
{
	int result = 0;

	for (unsigned i = 0; i < windows->count; i++)
		if (windows->window[i].dirty)
			result = first_error(
				result, flush(windows, &windows->window[i]));
	return result;
}

void window_clear(struct windows *windows)
{
	windows->count = 0;
	memset(windows->index, 0, sizeof(windows->index));
}
