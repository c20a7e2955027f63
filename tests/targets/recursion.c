/* SPDX-License-Identifier: Apache-2.0 */
/* watch: number */
/* options: -k */
/* Four megabytes of stack and the way back, with call stacks asked for. */
#include "tests/targets/target.h"

static volatile int number;

static int down(int depth)
{
	volatile char frame[4000];
	int below;

	frame[0] = (char)depth;
	frame[sizeof(frame) - 1] = 1;
	if (depth % 50 == 0)
		number++;
	below = depth ? down(depth - 1) : 0;
	return below + frame[sizeof(frame) - 1];
}

int main(void)
{
	int frames = down(1000);

	printf("%d %d\n", frames, number);
	return 0;
}
