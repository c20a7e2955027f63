/* SPDX-License-Identifier: Apache-2.0 */
/* options: --every --births=exact */
/* watch: class:Order.state */
/*
 * Objects that are gone long before a scan: each is made, written, read and
 * unmade.  Argument: how many (3).  Of each, state is written twice and read
 * once; another class has the same members, and the same blocks.
 */
#include "tests/targets/target.h"

struct Base {
	long id;

	Base(long number) : id(number) {}
	virtual ~Base() {}
};

struct Order : Base {
	int state;
	int lines[3];

	Order(long number) : Base(number), state(1), lines() {}
};

struct Invoice : Base {
	int state;
	int lines[3];

	Invoice(long number) : Base(number), state(1), lines() {}
};

template <class T> static long live(long number)
{
	T *object = new T(number);
	long seen;

	object->state = 2;
	object->lines[1] = (int)number;
	seen = object->state + object->id;
	delete object;
	return seen;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 3, sum = 0;

	for (long i = 0; i < count; i++)
		sum += live<Order>(i) + live<Invoice>(i);
	printf("%ld\n", sum);
	return 0;
}
