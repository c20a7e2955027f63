/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts its objects by class: some are made and unmade again, in an order
 * that leaves the bytes of many behind.  Argument: thousands of them.
 */
#include <list>
#include <memory>
#include <vector>

#include "tests/targets/target.h"

template <class T> struct Counted {
	static long count;

	Counted() { count++; }
	Counted(const Counted &) { count++; }
	~Counted() { count--; }
};
template <class T> long Counted<T>::count;

struct Animal {
	uint64_t id = 7;

	virtual ~Animal() {}
	virtual int legs() const = 0;
};

struct Cat : Animal, Counted<Cat> {
	char name[40] = "cat";

	int legs() const override { return 4; }
};

struct Swimmer {
	uint64_t depth = 3;

	virtual ~Swimmer() {}
	virtual uint64_t dive() { return depth; }
};

/* With a second vtable pointer, and one in a member. */
struct Duck : Animal, Swimmer, Counted<Duck> {
	Cat friends[2];

	int legs() const override { return 2; }
};

struct Snake : virtual Animal, Counted<Snake> {
	uint64_t length[4] = {};

	int legs() const override { return 0; }
};

static Duck standing;
static std::vector<std::unique_ptr<Animal>> kept;
static std::list<Snake> listed;
static std::vector<Cat> row(100);

/* Blocks that lie beside each other become one, which is given back. */
static void leave_behind(size_t many)
{
	std::vector<std::unique_ptr<Animal>> gone;

	for (size_t i = 0; i < many; i++)
		gone.emplace_back(new Duck);
	for (size_t i = 0; i < many; i++)
		gone.emplace_back(new Snake);
}

int main(int argc, char **argv)
{
	size_t many = argc > 1 ? strtoul(argv[1], nullptr, 10) * 1000 : 3000;

	leave_behind(many / 2);
	for (size_t i = 0; i < many; i++) {
		kept.emplace_back(new Cat);
		if (i % 3 == 0)
			kept.emplace_back(new Duck);
		if (i % 5 == 0)
			listed.emplace_back();
	}
	leave_behind(many / 3);
	for (size_t i = 0; i < kept.size(); i += 7)
		kept[i].reset();
	printf("Cat %ld %zu\n", Counted<Cat>::count, sizeof(Cat));
	printf("Duck %ld %zu\n", Counted<Duck>::count, sizeof(Duck));
	printf("Snake %ld %zu\n", Counted<Snake>::count, sizeof(Snake));
	printf("ready\n");
	fflush(stdout);
	printf("%d\n", getchar());
	return 0;
}
