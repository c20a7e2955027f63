/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include <string.h>

#include "unwinder/pointer.h"

enum { LEAF_MAX = 4096 }; /* bytes of code */

/* No sane frame is larger; a farther rbp is some other value. */
#define FRAME_MAX (UINT64_C(1) << 20)

static bool is_frame_pointer(uint64_t rbp, uint64_t sp)
{
	return rbp >= sp && rbp - sp <= FRAME_MAX && rbp % 8 == 0;
}

/* Is there a call instruction right before @ip? */
static bool follows_call(struct image *image, uint64_t ip)
{
	uint8_t before[7]; /* the longest: call [base + index * n + disp32] */

	if (image_read(image, ip - sizeof(before), before, sizeof(before)) < 0)
		return false;
	if (before[2] == 0xe8) /* call rel32 */
		return true;
	/* ff /2: opcode and ModRM, then up to five bytes of address */
	for (size_t i = 0; i + 1 < sizeof(before); i++) {
		size_t rest = sizeof(before) - i - 2;
		unsigned modrm = before[i + 1], mod = modrm >> 6,
			 rm = modrm & 7;
		size_t need;

		if (before[i] != 0xff || (modrm >> 3 & 7) != 2)
			continue;
		need = mod == 1 ? 1 : mod == 2 ? 4 : 0;
		if (mod != 3 && rm == 4)
			need++; /* SIB */
		if (mod == 0 && rm == 5)
			need = 4; /* rip-relative */
		if (need == rest)
			return true;
	}
	return false;
}

/* What rbp leads to would be the caller's caller. */
int pointer_leaf_caller(struct image *image, const struct cold_frame *frame,
			struct cold_frame *ret)
{
	uint8_t call[5]; /* e8, and how far it goes */
	uint64_t ip;
	int32_t distance;

	if (frame->sp % 8 == 0 &&
	    image_read(image, frame->sp, &ip, sizeof(ip)) == 0 &&
	    image_read(image, ip - sizeof(call), call, sizeof(call)) == 0 &&
	    call[0] == 0xe8) {
		memcpy(&distance, call + 1, sizeof(distance));
		if (frame->ip - (ip + (uint64_t)(int64_t)distance) < LEAF_MAX) {
			*ret = (struct cold_frame){
				.ip = ip,
				.sp = frame->sp + 8,
				.rbp = frame->rbp,
			};
			return 0;
		}
	}
	return image->error ? image->error : pointer_caller(image, frame, ret);
}

int pointer_caller(struct image *image, const struct cold_frame *frame,
		   struct cold_frame *ret)
{
	uint64_t saved[2]; /* the caller's rbp, the return address */
	int r;

	if (!is_frame_pointer(frame->rbp, frame->sp))
		return 1;
	r = image_read(image, frame->rbp, saved, sizeof(saved));
	if (r < 0)
		return r == -EFAULT ? 1 : r;
	if (!follows_call(image, saved[1]))
		return image->error ? image->error : 1;
	*ret = (struct cold_frame){
		.ip = saved[1],
		.sp = frame->rbp + 16,
		.rbp = saved[0],
	};
	return 0;
}
