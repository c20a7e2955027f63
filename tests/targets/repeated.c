/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* String instructions: each size, both directions, over page borders. */
#include <string.h>

#include "tests/targets/target.h"

static struct {
	unsigned char a[9000], b[9000];
} box __attribute__((aligned(4096)));

struct result {
	uint64_t si, di, cx, flags;
};

#define repeated(insn, from, to, count, value)                                 \
	({                                                                     \
		uint64_t si_ = (uintptr_t)(from), di_ = (uintptr_t)(to);       \
		uint64_t cx_ = (count), ax_ = (value);                         \
		unsigned char zero_;                                           \
		__asm__ volatile(insn "\n\tsete %4\n\tcld"                     \
				 : "+S"(si_), "+D"(di_), "+c"(cx_), "+a"(ax_), \
				   "=r"(zero_)                                 \
				 :                                             \
				 : "memory", "cc");                            \
		printf("%s: %ld %ld %ld %d %016lx\n", #insn,                   \
		       (long)(si_ - (uintptr_t)&box),                          \
		       (long)(di_ - (uintptr_t)&box), (long)cx_, zero_,        \
		       hash(&box, sizeof(box)));                               \
	})

int main(void)
{
	for (size_t i = 0; i < sizeof(box.a); i++)
		box.a[i] = (unsigned char)(i * 13 + i / 256);

	/* sete tells nothing of moves, so flags are set before them */
	repeated("cmp %%eax, %%eax; rep movsb", box.a + 3, box.b + 1, 8000, 0);
	repeated("cmp %%eax, %%eax; rep movsq", box.a, box.b + 8, 1000, 0);
	repeated("cmp %%eax, %%eax; std; rep movsl", box.a + 8000, box.b + 8000,
		 1500, 0);
	repeated("cmp %%eax, %%eax; rep stosw", box.a, box.b + 5, 3000, 0xabcd);
	repeated("cmp %%eax, %%eax; rep stosb", box.a, box.b + 4090, 12, 7);
	repeated("cmp %%eax, %%eax; movsq", box.a + 4093, box.b + 4091, 1, 0);
	memcpy(box.b, box.a, sizeof(box.a));
	box.b[6000] ^= 1;
	repeated("repe cmpsb", box.a, box.b, sizeof(box.a), 0);
	repeated("repe cmpsq", box.a, box.b, 500, 0);
	repeated("repne scasb", box.a, box.b, 9000, box.b[4500] + 256);
	repeated("repne scasl", box.a, box.b, 2000, 0x1234567);
	repeated("cmp %%eax, %%eax; rep lodsb", box.a + 100, box.b, 50, 0);
	repeated("cmp %%eax, %%eax; rep movsb", box.a, box.a + 1, 600, 0);
	repeated("cmp %%eax, %%eax; rep movsb", box.a, box.a + 1, 0, 0);
	return 0;
}
