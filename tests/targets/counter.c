/* SPDX-License-Identifier: Apache-2.0 */
/* watch: counter */
/*
 * One thread stores 10,000 times into a global.  It reads it back and prints
 * it, unless told "stores": then the stores are all there is to see.
 */
#include <string.h>

#include "tests/targets/target.h"

volatile uint64_t counter;

int main(int argc, char **argv)
{
	for (uint64_t i = 1; i <= 10000; i++)
		counter = i;
	if (argc > 1 && !strcmp(argv[1], "stores"))
		puts("stored");
	else
		printf("%d\n", (int)counter);
	return 0;
}
