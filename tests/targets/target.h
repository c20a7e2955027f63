/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * target - what the traced test programs share
 *
 * They print the same every time, so that a run under a tracer can be
 * compared with a bare one; what cannot go wrong bare is checked by expect().
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define expect(condition)                                                      \
	do {                                                                   \
		if (!(condition)) {                                            \
			printf("line %d: not %s\n", __LINE__, #condition);     \
			exit(99);                                              \
		}                                                              \
	} while (0)

/*
 * FNV-1a: one number that tells whether many bytes are right.  Of a copy,
 * because byte by byte each would be an access to what is watched.
 */
static inline uint64_t hash(const void *data, size_t size)
{
	const unsigned char *from = (const unsigned char *)data;
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	unsigned char bytes[4096];

	while (size) {
		size_t n = size < sizeof(bytes) ? size : sizeof(bytes);

		memcpy(bytes, from, n);
		for (size_t i = 0; i < n; i++)
			h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
		from += n;
		size -= n;
	}
	return h;
}
