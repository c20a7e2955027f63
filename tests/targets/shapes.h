/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Classes whose vtables lie in a library, and one that only it knows. */
struct Shape {
	int id = 0;

	virtual ~Shape();
	virtual int sides() const;
};

Shape *make_hidden();
