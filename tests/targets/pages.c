/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* watch: map:/anon_hugepage* */
/* args: thp */
/* args: tlb */
/* args: key */
/* args: forbidden */
/* args: seal */
/*
 * Stores into memory of kinds that the kernel treats apart: transparent huge
 * pages, huge pages of the pool (where it has some), pages with a protection
 * key, and sealed ones.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { NUMBER_MSEAL = 462, HUGE = 2 << 20, PAGE = 4096 };

static volatile char box[2 * HUGE] __attribute__((aligned(HUGE)));
static sigjmp_buf back;

static void work(volatile char *at)
{
	for (int i = 0; i < HUGE; i += HUGE / 16)
		at[i] = (char)(at[i] + i / PAGE + 1);
	printf("%lx\n", hash((const void *)at, HUGE));
}

static void thp(void)
{
	/* It may have none to give: small pages then. */
	(void)madvise((void *)box, sizeof(box), MADV_HUGEPAGE);
	work(box);
	expect(mprotect((void *)(box + PAGE), PAGE, PROT_READ) == 0);
	expect(mprotect((void *)(box + PAGE), PAGE, PROT_READ | PROT_WRITE) ==
	       0);
	work(box);
	expect(madvise((void *)box, HUGE, MADV_DONTNEED) == 0);
	work(box);
}

static void tlb(void)
{
	int fds[2];
	char *at = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	box[0]++;
	if (at == MAP_FAILED) {
		puts("no huge pages");
		return;
	}
	work(at);
	expect(mprotect(at + PAGE, PAGE, PROT_READ) < 0 && errno == EINVAL);
	expect(mprotect(at, HUGE, PROT_READ) == 0);
	expect(pipe(fds) == 0 && write(fds[1], "word", 4) == 4);
	expect(read(fds[0], at, 4) < 0 && errno == EFAULT);
	expect(mprotect(at, HUGE, PROT_READ | PROT_WRITE) == 0);
	expect(read(fds[0], at, 4) == 4);
	if (fork() == 0) {
		work(at);
		_exit(3);
	}
	wait(NULL);
	work(at);
	expect(munmap(at, HUGE) == 0);
}

static void handler(int sig, siginfo_t *info, void *context)
{
	box[HUGE]++;
	printf("signal %d code %d\n", sig, info->si_code);
	siglongjmp(back, 1);
}

static int new_key(void)
{
	int key = (int)syscall(SYS_pkey_alloc, 0UL, 0UL);

	box[0]++;
	if (key < 0)
		puts("no protection keys");
	return key;
}

static void key(void)
{
	int number = new_key();

	/* Without any, -1 is none: it is mprotect(2) then. */
	expect(syscall(SYS_pkey_mprotect, box, (size_t)PAGE,
		       (unsigned long)(PROT_READ | PROT_WRITE), number) == 0);
	work(box);
	expect(syscall(SYS_pkey_mprotect, box, (size_t)PAGE,
		       (unsigned long)PROT_READ, number) == 0);
	if (sigsetjmp(back, 1) == 0)
		box[8] = 1;
	expect(mprotect((void *)box, PAGE, PROT_READ | PROT_WRITE) == 0);
	work(box);
}

/* A key that forbids writing, in this thread. */
static void forbidden(void)
{
	int number = new_key();

	if (number < 0)
		return;
	expect(syscall(SYS_pkey_mprotect, box, (size_t)PAGE,
		       (unsigned long)(PROT_READ | PROT_WRITE), number) == 0);
	expect(pkey_set(number, PKEY_DISABLE_WRITE) == 0);
	if (sigsetjmp(back, 1) == 0)
		box[8] = 1;
	expect(pkey_set(number, 0) == 0);
	work(box);
}

static void seal(void)
{
	box[0]++;
	/* Where the kernel has it. */
	(void)syscall(NUMBER_MSEAL, box, (size_t)HUGE, 0UL);
	work(box);
	box[HUGE]++;
	printf("%d\n", box[HUGE]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "thp", thp },	  { "tlb", tlb },
		{ "key", key },	  { "forbidden", forbidden },
		{ "seal", seal },
	};
	const struct sigaction action = { .sa_sigaction = handler,
					  .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kinds[i].run();
	return 0;
}
