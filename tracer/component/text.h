/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * text - strings of the target, which need not be any
 */

#include "tracer/component/pages.h"

/*
 * A string that ends with NUL within @size bytes, is not empty, and has no
 * control characters.
 */
bool text_read(struct pages *pages, uint64_t addr, char *buffer, size_t size);

/* @length bytes without a NUL; cut to what fits. */
bool text_copy(struct pages *pages, uint64_t addr, uint64_t length,
	       char *buffer, size_t size);

/* Not empty, and without control characters. */
bool text_is_plain(const char *text);
