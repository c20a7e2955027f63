/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* The C library's string functions, which are vector code, on watched text. */
#include <string.h>
#include <wchar.h>

#include "tests/targets/target.h"

static struct {
	char a[3000], b[3000];
	wchar_t wide[100];
} box;

static void sized(size_t size)
{
	memset(box.a, 'a' + (int)(size % 20), size);
	box.a[size] = 0;
	memcpy(box.b + 1, box.a, size + 1);
	memmove(box.b + 3, box.b + 1, size);
	box.b[size + 3] = 0;
	printf("%zu: %zu %zu %d %d %td %td %016lx\n", size, strlen(box.a),
	       strnlen(box.b + 3, size + 10), strcmp(box.a, box.b + 3) > 0,
	       memcmp(box.a, box.b + 3, size),
	       (char *)memchr(box.a, 0, sizeof(box.a)) - box.a,
	       strchrnul(box.b + 1, 'Z') - box.b, hash(&box, sizeof(box)));
}

int main(void)
{
	static const size_t sizes[] = {
		0,  1,	2,  3,	 7,   8,   15,	16,  17,  31,  32,   33,
		63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 1000, 2900
	};
	char *rest;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		sized(sizes[i]);
	strcpy(box.a, "one two three");
	strcat(box.a, " four");
	for (char *word = strtok_r(box.a, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest))
		puts(word);
	snprintf(box.b, sizeof(box.b), "%.20s-%d-%.3f", box.a, 42, 1.5);
	puts(box.b);
	wmemset(box.wide, L'x', 99);
	printf("%zu\n", wcslen(box.wide));
	explicit_bzero(&box, sizeof(box));
	printf("%016lx\n", hash(&box, sizeof(box)));
	return 0;
}
