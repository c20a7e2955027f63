/* SPDX-License-Identifier: Apache-2.0 */
/* watch: plain_name_of_a_global */
/* options: --every --on write */
/*
 * A global and a class whose names a test replaces, in a copy of this
 * program, by bytes that are hard to write down.  The values are all ones,
 * which no double holds.
 */
#include "tests/targets/target.h"

struct Plain_name_of_a_class {
	virtual void set(uint64_t to)
	{
		value = to;
	}
	volatile uint64_t value = 0;
};

Plain_name_of_a_class plain_name_of_a_global;

int main()
{
	Plain_name_of_a_class *volatile object = &plain_name_of_a_global;

	for (int i = 0; i < 10; i++)
		object->set(UINT64_MAX - (i & 1));
	object->set(UINT64_MAX);
	puts("stored");
	return 0;
}
