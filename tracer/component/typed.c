/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/component/typed.h"

static int read_pages(void *context, uint64_t addr, void *buffer, size_t size)
{
	return pages_read(context, addr, buffer, size);
}

void typed_member(struct pages *pages, struct type *type, uint64_t start,
		  uint64_t addr, struct component *ret)
{
	struct memory memory = { .context = pages, .read = read_pages };
	struct subject subject = { &memory, start };

	if (!member_path(type, addr - start, &subject, ret->member,
			 sizeof(ret->member)))
		ret->member[0] = '\0';
}

size_t typed_find(struct pages *pages, struct type *type, uint64_t start,
		  const char *path, struct extent *ret, size_t max)
{
	struct memory memory = { .context = pages, .read = read_pages };
	struct subject subject = { &memory, start };

	return member_find(type, path, &subject, ret, max);
}
