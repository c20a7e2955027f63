/* SPDX-License-Identifier: Apache-2.0 */
/* options: --every --births=exact */
/* watch: class:*Hidden */
/* Writes once to an object of each of some classes, in part of a library. */
#include "tests/targets/shapes.h"
#include "tests/targets/target.h"

struct Square final : Shape {
	int sides() const override
	{
		return 4;
	}
};

namespace
{
struct Local : Shape {
	int sides() const override
	{
		return 3;
	}
};
} // namespace

int main()
{
	Shape *shapes[] = { new Shape, make_hidden(), new Square, new Local };
	int sum = 0;

	for (Shape *shape : shapes) {
		shape->id = 42;
		sum += shape->sides();
	}
	printf("%d\n", sum);
	return 0;
}
