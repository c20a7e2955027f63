/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "unwinder/pointer.h"

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
