/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * pointer - the caller by the frame pointer, for code without unwind tables
 *
 * A guess that has to look like a frame in every way before it is believed.
 */

#include "unwinder/cold.h"

/*
 * Of the innermost frame, which may not have made its own yet, or never does:
 * 0 and the caller, if the word at sp is where a call returns to that went to
 * a function not far before @frame->ip.  Else as pointer_caller().
 */
int pointer_leaf_caller(struct image *image, const struct cold_frame *frame,
			struct cold_frame *ret) _must_check_;

/*
 * 0 and the caller of @frame; 1 if nothing that rbp leads to looks like a
 * frame; -errno of @image.
 */
int pointer_caller(struct image *image, const struct cold_frame *frame,
		   struct cold_frame *ret) _must_check_;
