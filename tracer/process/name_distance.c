/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/process/name_distance.h"

/* Longer names are compared by their beginnings. */
enum { MAX_NAME = 64 };

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/*
 * Insertions, deletions and changes that make one name the other (Wagner and
 * Fischer, 1974), in one row.
 */
static unsigned distance(const char *a, const char *b)
{
	size_t na = strnlen(a, MAX_NAME), nb = strnlen(b, MAX_NAME);
	unsigned row[MAX_NAME + 1];

	for (size_t k = 0; k <= nb; k++)
		row[k] = k;
	for (size_t i = 1; i <= na; i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (size_t k = 1; k <= nb; k++) {
			unsigned change = diagonal + (a[i - 1] != b[k - 1]);

			diagonal = row[k];
			row[k] = least(row[k] + 1, row[k - 1] + 1, change);
		}
	}
	return row[nb];
}

unsigned name_distance(const char *wanted, const char *name)
{
	unsigned far = distance(wanted, name);

	/* Names that share little help nobody. */
	return far <= 1 + strnlen(wanted, MAX_NAME) / 3 ? far : NAME_FAR;
}
