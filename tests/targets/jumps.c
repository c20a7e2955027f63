/* SPDX-License-Identifier: Apache-2.0 */
/* watch: jumps:state */
/* setjmp(3) and longjmp(3) over frames, with the buffer watched. */
#include <setjmp.h>

#include "tests/targets/target.h"

static struct {
	jmp_buf buffer;
	volatile int depth;
} state;

static void dive(int depth)
{
	state.depth = depth;
	if (depth < 0)
		return;
	if (depth == 0)
		longjmp(state.buffer, state.depth + 1);
	dive(depth - 1);
	state.depth = -1; /* never on the way back */
}

int main(void)
{
	volatile int sum = 0;

	for (volatile int i = 0; i < 100; i++) {
		int value = setjmp(state.buffer);

		if (value == 0)
			dive(i);
		sum += value + state.depth;
	}
	printf("%d\n", sum);
	return 0;
}
