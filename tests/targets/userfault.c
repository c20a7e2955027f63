/* SPDX-License-Identifier: Apache-2.0 */
/* watch: array */
/* watch: hole */
/*
 * Memory whose missing pages a thread of the program provides: touched by
 * itself, by an instruction that copies from watched memory into it, and by
 * the kernel.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGE = 4096, PAGES = 8 };

static _Alignas(PAGE) volatile char array[PAGE];
static _Alignas(PAGE) volatile char hole[PAGES][PAGE];
static _Alignas(PAGE) volatile char unwatched[PAGES][PAGE];
static int fd;

static void *provide(void *argument)
{
	static char page[PAGE];
	struct uffd_msg message;

	memset(page, 'x', sizeof(page));
	while (read(fd, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_copy copy = {
			.dst = message.arg.pagefault.address & ~(PAGE - 1ul),
			.src = (uintptr_t)page,
			.len = PAGE,
		};

		array[1]++;
		ioctl(fd, UFFDIO_COPY, &copy);
	}
	return NULL;
}

static void give(volatile void *memory, size_t size)
{
	struct uffdio_register range = {
		.range = { (uintptr_t)memory, size },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	expect(madvise((void *)memory, size, MADV_DONTNEED) == 0);
	expect(ioctl(fd, UFFDIO_REGISTER, &range) == 0);
}

static int touch_all(void)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), sum = 0;

	for (int i = 0; i < PAGES / 2; i++) {
		const volatile char *from = array;
		volatile char *to = unwatched[i] + 8;

		sum += hole[i][5];
		__asm__ volatile("movsb" : "+S"(from), "+D"(to)::"memory");
		sum += unwatched[i][8] + unwatched[i][9];
	}
	for (int i = PAGES / 2; i < PAGES; i++) {
		expect(read(zero, (void *)hole[i], 8) == 8);
		sum += hole[i][7] + hole[i][8];
	}
	close(zero);
	return sum;
}

int main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t thread;
	char line[8];

	array[0] = 'a';
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0) /* vm.unprivileged_userfaultfd */
		fd = (int)syscall(SYS_userfaultfd,
				  O_CLOEXEC | UFFD_USER_MODE_ONLY);
	expect(fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0);
	pthread_create(&thread, NULL, provide, NULL);
	give(hole, sizeof(hole));
	give(unwatched, sizeof(unwatched));
	if (argc > 1 && !strcmp(argv[1], "wait")) {
		puts("ready");
		fflush(stdout);
		expect(read(0, line, sizeof(line)) >= 0);
	}
	printf("%d\n", touch_all());
	printf("%d\n", array[1]);
	return 0;
}
