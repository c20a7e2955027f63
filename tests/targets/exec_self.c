/* SPDX-License-Identifier: Apache-2.0 */
/* watch: number */
/* Becomes itself three times; the watched global is another each time. */
#include <unistd.h>

#include "tests/targets/target.h"

static volatile int number = 1;

int main(int argc, char **argv)
{
	int stage = argc > 1 ? atoi(argv[1]) : 0;
	char next[16];
	char *arguments[] = { argv[0], next, NULL };

	for (int i = 0; i < 100; i++)
		number += stage;
	printf("stage %d: %d\n", stage, number);
	fflush(stdout);
	if (stage == 3)
		return 11;
	snprintf(next, sizeof(next), "%d", stage + 1);
	execv("/proc/self/exe", arguments);
	return 99;
}
