/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * cpython_scene - the memory of an interpreter, made by hand
 *
 * For the unit test and the fuzzer: an image of some classes, objects in pools,
 * a thread and its frames, as versions 3.9 to 3.13 lay them out.
 */

#include "tracer/component/cpython.h"

#define SCENE_BASE UINT64_C(0x7f0000000000)

enum { SCENE_SIZE = 256 * 1024, SCENE_MODULE = 64 * 1024 };

struct scene {
	uint8_t image[SCENE_SIZE];
	uint64_t next; /* of what lies in no pool */
	uint64_t pools;
	unsigned minor;

	struct module module;
	struct mapping mapping[2];
	struct maps maps;
	struct world world;
	struct view view;
	struct cpython *py;

	/* what is in it */
	uint64_t order_type, order, values; /* Order().name, .price */
	uint64_t list, items;		    /* of 3 */
	uint64_t dict, keys;		    /* {"name": ..., "price": ...} */
	uint64_t freed;
	uint64_t types; /* the items of a list of classes: int, str */
	uint64_t thread, code, frame, cframe, stack;
};

struct scene *scene_new(unsigned minor);
void scene_free(struct scene *scene);

/* Bytes of the image, by an address in it. */
void scene_put(struct scene *scene, uint64_t addr, const void *bytes,
	       size_t size);
void scene_word(struct scene *scene, uint64_t addr, uint64_t word);

/*
 * Until it is changed: a frame of f() on the thread's own stack, which has two
 * variables; its address.  From 3.11 on.
 */
uint64_t scene_put_on_stack(struct scene *scene);

/*
 * A match of re that is under way, with the block of @freed and @items; the
 * address of its state, which is kept on the stack, too.
 */
uint64_t scene_put_match(struct scene *scene);
