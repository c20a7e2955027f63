/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/text.h"

bool text_is_plain(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	if (!*c)
		return false;
	for (; *c; c++)
		if (*c < ' ' || *c == 0x7f)
			return false;
	return true;
}

bool text_read(struct pages *pages, uint64_t addr, char *buffer, size_t size)
{
	size_t length = 0;

	/* Up to the end of the page at once: mostly that is all. */
	while (length < size) {
		uint64_t left = PAGE - (addr + length) % PAGE;
		size_t part = min_u64(left, size - length);

		if (pages_read(pages, addr + length, buffer + length, part) < 0)
			return false;
		if (memchr(buffer + length, '\0', part))
			return text_is_plain(buffer);
		length += part;
	}
	return false;
}

bool text_copy(struct pages *pages, uint64_t addr, uint64_t length,
	       char *buffer, size_t size)
{
	length = min_u64(length, size - 1);
	if (pages_read(pages, addr, buffer, length) < 0 ||
	    memchr(buffer, '\0', length))
		return false;
	buffer[length] = '\0';
	return text_is_plain(buffer);
}
