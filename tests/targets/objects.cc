/* SPDX-License-Identifier: Apache-2.0 */
/* watch: storage */
/*
 * Objects that are made and unmade at one place: each constructor stores its
 * own vtable pointer, so that the class changes from one access to the next.
 */
#include <new>

#include "tests/targets/target.h"

struct Shape {
	uint64_t id;

	explicit Shape(uint64_t n) : id(n) {}
	virtual ~Shape() { id = 0; }
	virtual uint64_t area() const { return id; }
};

struct Square : Shape {
	uint64_t side;

	explicit Square(uint64_t n) : Shape(n), side(n + 1) {}
	~Square() override { side = 0; }
	uint64_t area() const override { return side * side; }
};

struct Cube : Square {
	uint64_t height;

	explicit Cube(uint64_t n) : Square(n), height(n) {}
	uint64_t area() const override { return 6 * height * height; }
};

alignas(4096) static char storage[4096];

int main()
{
	uint64_t total = 0;

	for (uint64_t i = 0; i < 50; i++) {
		Shape *shape = i & 1 ? new (storage) Square(i)
				     : new (storage) Cube(i);

		total += shape->area();
		shape->~Shape();
	}
	printf("%lu\n", (unsigned long)total);
	return 0;
}
