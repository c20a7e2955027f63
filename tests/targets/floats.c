/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* Doubles, floats and long doubles: SSE, AVX where there is, x87. */
#include <immintrin.h>

#include "tests/targets/target.h"

static struct {
	double x[64], y[64];
	float f[64];
	long double l[8];
	int n[64];
} box __attribute__((aligned(64)));

static void plain(void)
{
	for (int i = 0; i < 64; i++) {
		box.x[i] = i * 1.25;
		box.f[i] = (float)box.x[i] / 3;
		box.y[i] = box.x[i] * box.x[i] - box.f[i];
		box.n[i] = (int)box.y[i];
		box.l[i % 8] = box.l[i % 8] / 2 + box.x[i];
	}
}

static void sse(void)
{
	for (int i = 0; i < 64; i += 2) {
		__m128d x = _mm_loadu_pd(&box.x[i]);

		x = _mm_sqrt_pd(_mm_add_pd(x, _mm_load_pd(&box.y[i])));
		_mm_store_pd(&box.y[i], x);
		_mm_stream_pd(&box.x[i], _mm_div_pd(x, _mm_set1_pd(7)));
	}
}

/* The same sums without AVX, where there is none. */
static void sums(void)
{
	for (int i = 0; i < 64; i++) {
		box.x[i] = box.x[i] + box.y[i];
		box.n[i] = box.n[i] + i;
	}
}

__attribute__((target("avx2"))) static void avx(void)
{
	const __m256i steps = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

	for (int i = 0; i < 64; i += 4)
		_mm256_store_pd(&box.x[i],
				_mm256_add_pd(_mm256_loadu_pd(&box.x[i]),
					      _mm256_load_pd(&box.y[i])));
	for (int i = 0; i < 64; i += 8) {
		__m256i *n = (__m256i *)&box.n[i];
		__m256i step = _mm256_add_epi32(steps, _mm256_set1_epi32(i));

		_mm256_storeu_si256(
			n, _mm256_add_epi32(_mm256_load_si256(n), step));
	}
}

int main(void)
{
	double sum = 0;

	plain();
	sse();
	if (__builtin_cpu_supports("avx2"))
		avx();
	else
		sums();
	for (int i = 0; i < 64; i++)
		sum += box.x[i] + box.y[i] + (double)box.f[i] + box.n[i];
	printf("%.10f %.10f %.10Lf %016lx\n", sum, box.x[63], box.l[7],
	       hash(box.n, sizeof(box.n)));
	return 0;
}
