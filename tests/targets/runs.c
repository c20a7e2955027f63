/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* Runs of string instructions that are longer than what is done in one go. */
#include <string.h>

#include "tests/targets/target.h"

enum { SIZE = 300000 };

static struct {
	unsigned char a[SIZE], b[SIZE];
} box __attribute__((aligned(4096)));

static unsigned char copy[sizeof(box)]; /* not watched */

static void *move(void *to, const void *from, size_t size)
{
	void *ret = to;

	__asm__ volatile("rep movsb"
			 : "+D"(to), "+S"(from), "+c"(size)::"memory");
	return ret;
}

#define repeated(insn, from, to, count, value)                                 \
	({                                                                     \
		uint64_t si_ = (uintptr_t)(from), di_ = (uintptr_t)(to);       \
		uint64_t cx_ = (count), ax_ = (value);                         \
		unsigned char zero_;                                           \
		__asm__ volatile("cmp %%eax, %%eax\n\t" insn                   \
				 "\n\tsete %4\n\tcld"                          \
				 : "+S"(si_), "+D"(di_), "+c"(cx_), "+a"(ax_), \
				   "=r"(zero_)::"memory", "cc");               \
		printf("%s: %ld %ld %ld %lx %d %016lx\n", insn,                \
		       (long)(si_ - (uintptr_t)&box),                          \
		       (long)(di_ - (uintptr_t)&box), (long)cx_, (long)ax_,    \
		       zero_,                                                  \
		       hash(move(copy, &box, sizeof(box)), sizeof(box)));      \
	})

int main(void)
{
	for (size_t i = 0; i < sizeof(copy); i++)
		copy[i] = (unsigned char)(i * 13 + i / 256);
	move(&box, copy, sizeof(box));

	repeated("rep movsb", box.a + 3, box.b + 1, SIZE - 9, 0);
	repeated("rep movsq", box.a, box.b + 8, SIZE / 8 - 1, 0);
	repeated("std; rep movsl", box.a + SIZE - 5, box.b + SIZE - 8,
		 SIZE / 4 - 9, 0);
	repeated("rep movsb", box.a, box.a + 100000, SIZE, 0);
	repeated("rep movsb", box.a + 70001, box.a, SIZE, 0);
	repeated("rep movsw", box.a, box.a + 2, SIZE / 2, 0);
	repeated("std; rep movsb", box.b + SIZE - 70000, box.b + SIZE - 9, SIZE,
		 0);
	repeated("rep stosw", box.a, box.b + 5, SIZE / 2 - 9, 0xabcd);
	repeated("std; rep stosq", box.a, box.b + SIZE - 9, SIZE / 8 - 9,
		 0x0123456789abcdef);
	repeated("rep lodsb", box.a + 100, box.b, SIZE - 200, 0x7700);
	repeated("std; rep lodsl", box.a + SIZE - 9, box.b, SIZE / 4 - 9, 0);

	move(box.b, copy, SIZE);
	move(box.a, copy, SIZE);
	box.b[200000] ^= 1;
	repeated("repe cmpsb", box.a, box.b, SIZE, 0);
	repeated("repe cmpsq", box.a, box.b, SIZE / 8, 0);
	repeated("std; repe cmpsb", box.a + SIZE - 1, box.b + SIZE - 1, SIZE,
		 0);
	repeated("repne scasl", box.a, box.b, SIZE / 4, 0x1234567);
	return 0;
}
