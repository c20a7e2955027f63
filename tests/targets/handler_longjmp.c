/* SPDX-License-Identifier: Apache-2.0 */
/* watch: handler_longjmp:state */
/* siglongjmp(3) out of a SIGSEGV handler, its buffer watched. */
#include <setjmp.h>
#include <signal.h>

#include "tests/targets/target.h"

static struct {
	sigjmp_buf buffer;
	volatile int caught;
} state;

static void handler(int sig)
{
	state.caught++;
	siglongjmp(state.buffer, state.caught);
}

int main(void)
{
	volatile int *nowhere = NULL;
	volatile int sum = 0;

	signal(SIGSEGV, handler);
	for (volatile int i = 0; i < 50; i++) {
		int value = sigsetjmp(state.buffer, 1);

		if (value == 0)
			*nowhere = 1;
		sum += value;
	}
	printf("%d %d\n", state.caught, sum);
	return 0;
}
