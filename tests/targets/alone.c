/* SPDX-License-Identifier: Apache-2.0 */
/* watch: number */
/* Without libc: system calls are its own, and of a static-pie the code lies
 * above the vDSO. */

static volatile long number;

static long call(long what, long a, long b, long c)
{
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(what), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return r;
}

void _start(void)
{
	for (int i = 0; i < 100; i++)
		number += i;
	call(1, 1, (long)(number == 4950 ? "right\n" : "wrong\n"), 6);
	call(231, 3, 0, 0);
	__builtin_unreachable();
}
