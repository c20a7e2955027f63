/* SPDX-License-Identifier: Apache-2.0 */
/* watch: place */
/*
 * A store in a function that is inlined twice over; the test looks for the
 * lines that are marked.
 */
#include "tests/targets/target.h"

#define INLINED static inline __attribute__((always_inline))

volatile int place;

INLINED void inner(int value)
{
	place = value; /* inner */
}

INLINED void middle(int value)
{
	inner(value); /* middle */
}

__attribute__((noinline)) static void outer(int value)
{
	middle(value); /* outer */
	printf("%d\n", value);
}

int main(int argc, char **argv)
{
	outer(argc); /* main */
	return 0;
}
