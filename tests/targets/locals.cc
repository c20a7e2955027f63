/* SPDX-License-Identifier: Apache-2.0 */
/* options: --every */
/* watch: map:stack */
/*
 * Writes to variables of functions that run, its own and those of callers.
 * With an argument it says after each: kind, function or class, variable and
 * member, address, and the value, which is another each time.
 */
#include <alloca.h>
#include <pthread.h>

#include "tests/targets/target.h"

#define NOINLINE __attribute__((noinline))

static int written;
static bool saying;

static NOINLINE void say(const char *kind, const char *name, const char *member,
			 const volatile void *addr)
{
	if (saying)
		printf("%s\t%s\t%s\t%zx\t%d\n", kind, name, member,
		       (size_t)addr, written);
}

#define TOUCH(kind, name, member, what)                                        \
	do {                                                                   \
		(what) = ++written;                                            \
		say(kind, name, member, &(what));                              \
	} while (0)

struct Point {
	int x, y;
};

struct Line {
	Point from, to[3];
	union {
		int whole;
		char part[4];
	} value;
};

struct Animal {
	virtual ~Animal()
	{
	}
	virtual int legs() = 0;
	int age = 0;
};

struct Dog : Animal {
	int legs() override
	{
		return 4;
	}
	int tail = 0;
};

struct Kennel {
	int number;
	Dog dog;
};

/* Of its caller. */
static NOINLINE void fill(volatile Line *line, volatile int *number)
{
	TOUCH("stack", "scopes(int)", "line.to[2].y", line->to[2].y);
	TOUCH("stack", "scopes(int)", "line.value.{whole|part[0]}",
	      line->value.whole);
	TOUCH("stack", "scopes(int)", "table[1][2]", number[5]);
}

static inline __attribute__((always_inline)) void inlined(int start)
{
	volatile int inside = start;

	TOUCH("stack", "scopes(int)", "inside", inside);
}

static NOINLINE int scopes(volatile int argument)
{
	volatile Line line = {};
	volatile int table[2][3] = {};

#ifndef __OPTIMIZE__ /* else not every compiler tells where it is */
	TOUCH("stack", "scopes(int)", "argument", argument);
#endif
	fill(&line, &table[0][0]);
	{
		volatile int inner = argument;

		TOUCH("stack", "scopes(int)", "inner", inner);
	}
	inlined(argument);
	return argument + line.from.x + table[0][1];
}

static NOINLINE int objects(int count)
{
	volatile Dog dog;
	volatile Kennel kennel = {};
	Animal *animal = const_cast<Dog *>(&dog);

	TOUCH("object", "Dog", "tail", dog.tail);
	TOUCH("object", "Dog", "age", dog.age);
	TOUCH("stack", "objects(int)", "kennel.number", kennel.number);
	return count + animal->legs();
}

/* Of each level its own. */
static NOINLINE int recurse(int depth)
{
	volatile int here = depth;

	TOUCH("stack", "recurse(int)", "here", here);
	return depth ? recurse(depth - 1) + here : here;
}

static void *thread(void *argument)
{
	volatile int mine = 1;

	TOUCH("stack", "thread(void*)", "mine", mine);
	return argument;
}

int main(int argc, char **argv)
{
	/* Away from the page of the arguments, which is not watched. */
	volatile char *away = (char *)alloca(8192);
	pthread_t id;
	int sum;

	__asm__ volatile("" : : "r"(away) : "memory"); /* all of it */
	saying = argc > 1;
	sum = scopes(argc) + objects(argc) + recurse(5);
	pthread_create(&id, NULL, thread, NULL);
	pthread_join(id, NULL);
	printf("%d\n", sum);
	return 0;
}
