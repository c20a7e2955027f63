/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * image - the process's memory as one walk sees it
 *
 * What does not change (text, unwind tables) is kept until the modules
 * change, all else for one walk.  Nothing here knows what a frame is.
 */

#include "unwinder/module.h"
#include "unwinder/pages.h"

/*
 * The target writes its own unwind programs, and they can loop (DW_OP_skip)
 * or push states for ever.  An honest step asks for some hundred words, one
 * with a huge function for some thousands.
 */
enum { IMAGE_STEP_WORDS = 1 << 17 };

struct image {
	const struct memory *memory; /* of the walk */
	struct modules modules;
	struct pages fixed; /* text and unwind tables */
	struct pages fresh; /* stacks and the rest */
	uint64_t budget;    /* words that this step may still ask for */
	int error;	    /* the first one that is not -EFAULT */
};

int image_init(struct image *image) _must_check_;
void image_done(struct image *image);
int image_modules(struct image *image, const struct unwinder_module *modules,
		  size_t count) _must_check_;

/* A new walk: forget what may have changed. */
void image_begin(struct image *image, const struct memory *memory);

/* 0 or -errno; -EFAULT also when the budget is used up. */
int image_read(struct image *image, uint64_t addr, void *buffer,
	       size_t size) _must_check_;

static inline int image_word(struct image *image, uint64_t addr,
			     uint64_t *value)
{
	return image_read(image, addr, value, sizeof(*value));
}

/* The module at @addr with its tables looked at, or NULL. */
struct module *image_module(struct image *image, uint64_t addr);

/* Does the word at @addr stay as it is until the modules change? */
bool image_is_fixed(const struct image *image, uint64_t addr);
