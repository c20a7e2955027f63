/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/targets/shapes.h"

Shape::~Shape()
{
}

int Shape::sides() const
{
	return 0;
}

namespace inner
{
struct __attribute__((visibility("hidden"))) Hidden : Shape {
	int sides() const override
	{
		return 7;
	}
};
} // namespace inner

Shape *make_hidden()
{
	return new inner::Hidden;
}
