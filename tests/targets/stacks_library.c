/* SPDX-License-Identifier: Apache-2.0 */
/* A library of stacks.c, in two builds that differ in their frames. */

void call_back(void (*function)(void));

static __attribute__((noinline)) void inner(void (*function)(void))
{
	volatile char frame[FRAME];

	frame[0] = 1;
	function();
	frame[0]++;
}

void call_back(void (*function)(void))
{
	volatile char frame[3 * FRAME];

	frame[0] = 1;
	inner(function);
	frame[0]++;
}
