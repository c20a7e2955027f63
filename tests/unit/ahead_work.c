/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "tests/unit/ahead_work.h"

/* clang has no such attribute: all are compiled alike there. */
#ifdef __clang__
#define LEVEL(level) __used__
#else
#define LEVEL(level) __optimize__(level)
#endif

#define WORK(level)                                                            \
	static __attribute__((__noinline__, LEVEL(level),                      \
			      __no_sanitize__("address", "undefined"),         \
			      __no_stack_protector__)) uint64_t

WORK("O2") sum64(uint64_t *words)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < AHEAD_WORDS; i++) {
		sum += words[i];
		__asm__ volatile("" : "+r"(sum));
	}
	return sum;
}

WORK("O2") sum32(uint64_t *words)
{
	const uint32_t *halves = (const uint32_t *)words;
	uint32_t sum = 0;

	for (unsigned i = 0; i < 2 * AHEAD_WORDS; i++) {
		sum = sum * 31 + halves[i];
		__asm__ volatile("" : "+r"(sum));
	}
	return sum;
}

WORK("O2") fill(uint64_t *words)
{
	for (unsigned i = 0; i < AHEAD_WORDS; i++) {
		words[i] = i * UINT64_C(0x9e3779b97f4a7c15);
		__asm__ volatile("" ::: "memory");
	}
	return words[7];
}

/* Single bytes, high registers, flags into registers, read-modify-writes. */
WORK("O2") bytes(uint64_t *words)
{
	uint8_t *byte = (uint8_t *)words;
	uint64_t count = 0;

	for (unsigned i = 0; i + 1 < 8 * AHEAD_WORDS; i++) {
		byte[i] ^= byte[i + 1] >> 3;
		count += byte[i] > 100 ? 3 : byte[i] < 50;
	}
	return count;
}

WORK("O2") doubles(uint64_t *words)
{
	double sum = 0;

	for (unsigned i = 0; i < AHEAD_WORDS; i++) {
		double value = (double)(words[i] >> 20);

		sum = sum * 0.5 + value;
		__asm__ volatile("" : "+x"(sum));
	}
	words[0] = (uint64_t)sum;
	return words[0];
}

__attribute__((__target__("avx2,fma"))) WORK("O2") vectors(uint64_t *words)
{
	double *real = (double *)words;
	__m256d a = _mm256_set1_pd(1.5), b = _mm256_set1_pd(2);

	for (unsigned i = 0; i < AHEAD_WORDS; i++)
		real[i] = i;
	for (unsigned i = 0; i < AHEAD_WORDS; i += 4) {
		__m256d v = _mm256_loadu_pd(real + i);

		_mm256_storeu_pd(real + i, _mm256_fmadd_pd(v, a, b));
	}
	return 0;
}

WORK("O2") insertion_sort(uint64_t *words)
{
	for (unsigned i = 1; i < 64; i++) {
		uint64_t value = words[i];
		unsigned k = i;

		for (; k > 0 && words[k - 1] > value; k--)
			words[k] = words[k - 1];
		words[k] = value;
	}
	return words[0];
}

/* Division, multiplication, shifts by a register, bit tests, rotations. */
WORK("O2") numbers(uint64_t *words)
{
	uint64_t x = 88172645463325252;

	for (unsigned i = 0; i < AHEAD_WORDS; i++) {
		x ^= x << 13;
		x ^= x >> (x & 15);
		x = x << 7 | x >> 57;
		words[i] = x / (i + 1) + x % 1000 +
			   (uint64_t)((__uint128_t)x * words[i] >> 64);
		x += (uint64_t)__builtin_popcountll(words[i]) +
		     (uint64_t)__builtin_clzll(x | 1) +
		     (words[i] >> (i & 63) & 1);
		x ^= __builtin_bswap64(x);
	}
	return x;
}

WORK("O0") plain(uint64_t *words)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < AHEAD_WORDS; i++)
		sum += words[i] * 3;
	return sum;
}

WORK("O0") weigh(uint64_t *words, int i)
{
	return i & 1 ? words[i] : words[i] >> 1;
}

WORK("O0") calls(uint64_t *words)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < AHEAD_WORDS; i++)
		sum += weigh(words, i);
	words[0] = sum;
	return sum;
}

WORK("O0") recursive(uint64_t *words)
{
	words[1]++;
	if (words[0] < 2)
		return 1;
	words[0] -= 2;
	return recursive(words) + recursive(words);
}

WORK("O0") recursion(uint64_t *words)
{
	words[0] = 256;
	return recursive(words);
}

/* A stack whose size is told by a register, and a jump by a table. */
WORK("O1") lengths(uint64_t *words)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < AHEAD_WORDS; i++) {
		volatile uint8_t *local = __builtin_alloca((i & 31) + 16);

		local[i & 15] = (uint8_t)words[i];
		switch (words[i] & 7) {
		case 0:
			sum += local[i & 15];
			break;
		case 1:
			sum ^= words[i];
			break;
		case 2:
			sum -= i;
			break;
		case 3:
			sum = ~sum;
			break;
		case 4:
			sum <<= 1;
			break;
		default:
			sum++;
			break;
		}
		words[i] = sum;
	}
	return sum;
}

/* String instructions between other ones, forwards and backwards. */
WORK("O2") strings(uint64_t *words)
{
	for (uint64_t i = 1; i < 100; i++) {
		void *to = words + i, *from = words + 300 + i;
		uint64_t count = i;

		__asm__ volatile("rep movsb\n\tmov %%al, (%0)\n\tstosq"
				 : "+D"(to), "+S"(from), "+c"(count)
				 : "a"(i)
				 : "memory");
		__asm__ volatile("std\n\tlodsq\n\tcld"
				 : "+S"(from)
				 :
				 : "rax", "memory", "cc");
	}
	return words[9];
}

const struct ahead_work ahead_works[] = {
	{ "sum64", sum64, 512, false, false },
	{ "sum32", sum32, 1024, false, false },
	{ "fill", fill, 512, false, false },
	{ "bytes", bytes, 4096, false, false },
	{ "doubles", doubles, 512, false, false },
	{ "vectors", vectors, 256, false, true },
	{ "insertion_sort", insertion_sort, 1000, false, false },
	{ "numbers", numbers, 512, false, false },
	{ "plain", plain, 512, true, false },
	{ "calls", calls, 512, true, false },
	{ "recursion", recursion, 257, true, false },
	{ "lengths", lengths, 512, true, false },
	{ "strings", strings, 297, false, false },
};
const size_t ahead_works_count = ARRAY_SIZE(ahead_works);
