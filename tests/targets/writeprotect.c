/* SPDX-License-Identifier: Apache-2.0 */
/* watch: array */
/* args: own */
/* args: given */
/*
 * Stores to memory that a userfaultfd protects, in between of others: the
 * kernel tells with SIGBUS, and the handler lifts the protection; or asks a
 * child to, who alone has the descriptor by then.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGES = 4, WORDS = 512 };

static _Alignas(4096) volatile uint64_t array[WORDS];
static _Alignas(4096) volatile uint64_t copy[PAGES][WORDS];
static int fd, ask[2], answer[2];
static volatile sig_atomic_t protected;

static void lift(uintptr_t page)
{
	struct uffdio_writeprotect lift = { { page, 4096 }, 0 };

	expect(ioctl(fd, UFFDIO_WRITEPROTECT, &lift) == 0);
}

static void on_bus(int sig, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)4095;
	char byte;

	protected++;
	if (fd >= 0) {
		lift(page);
		return;
	}
	expect(write(ask[1], &page, sizeof(page)) == sizeof(page));
	expect(read(answer[0], &byte, 1) == 1);
}

static void serve(void)
{
	uintptr_t page;

	close(ask[1]);
	while (read(ask[0], &page, sizeof(page)) == sizeof(page)) {
		lift(page);
		expect(write(answer[1], "", 1) == 1);
	}
	_exit(0);
}

static void give_away(void)
{
	expect(pipe(ask) == 0 && pipe(answer) == 0);
	if (fork() == 0)
		serve();
	close(fd);
	fd = -1;
}

/* False: this kernel has no such thing for us. */
static int protect(void)
{
	struct uffdio_api api = { UFFD_API,
				  UFFD_FEATURE_SIGBUS |
					  UFFD_FEATURE_PAGEFAULT_FLAG_WP,
				  0 };
	struct uffdio_register range = { { (uintptr_t)copy, sizeof(copy) },
					 UFFDIO_REGISTER_MODE_WP,
					 0 };
	struct uffdio_writeprotect all = { { (uintptr_t)copy, sizeof(copy) },
					   UFFDIO_WRITEPROTECT_MODE_WP };

	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	return fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0 &&
	       ioctl(fd, UFFDIO_REGISTER, &range) == 0 &&
	       ioctl(fd, UFFDIO_WRITEPROTECT, &all) == 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_bus,
				    .sa_flags = SA_SIGINFO };
	uint64_t sum = 0;

	sigaction(SIGBUS, &action, NULL);
	for (int i = 0; i < PAGES * WORDS; i++)
		copy[i / WORDS][i % WORDS] = array[i % WORDS] = (unsigned)i;
	if (protect() && argc > 1 && !strcmp(argv[1], "given"))
		give_away();
	for (int i = 0; i < PAGES * WORDS; i++)
		copy[i / WORDS][i % WORDS] = array[i % WORDS] + 1;
	for (int i = 0; i < PAGES * WORDS; i++)
		sum = sum * 31 + copy[i / WORDS][i % WORDS];
	printf("%016lx, %d\n", sum, protected);
	if (ask[1]) {
		close(ask[1]);
		wait(NULL);
	}
	return 0;
}
