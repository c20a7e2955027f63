/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/*
 * A store over two pages of which the second lies behind the end of its file:
 * SIGBUS, and not a byte of the first page is changed.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGE = 4096, LEFT = 4 };

/* Only the first page is watched; the second stays open. */
extern char box[PAGE];
__asm__(".pushsection .bss\n\t.balign 4096\n\t.type box, @object\n\t"
	".size box, 4096\nbox:\t.skip 8192\n\t.popsection");

static sigjmp_buf back;

static void on_bus(int number, siginfo_t *info, void *context)
{
	printf("%d %td\n", info->si_code, (char *)info->si_addr - box);
	siglongjmp(back, 1);
}

static void map_file(int flags)
{
	char path[] = "/tmp/cls-eof.XXXXXX";
	int fd = mkstemp(path);

	expect(fd >= 0 && unlink(path) == 0 && ftruncate(fd, PAGE) == 0);
	expect(mmap(box, 2 * PAGE, PROT_READ | PROT_WRITE, flags | MAP_FIXED,
		    fd, 0) == box);
	close(fd);
}

static void stores(void)
{
	char *edge = box + PAGE - LEFT;
	unsigned long count = 100;
	char *to = edge;

	if (!sigsetjmp(back, 1))
		__asm__ volatile("movq $-1, (%0)" ::"r"(edge) : "memory");
	printf("%016lx\n", hash(box, PAGE));
	if (!sigsetjmp(back, 1))
		__asm__ volatile("lock addq $-1, (%0)" ::"r"(edge) : "memory");
	printf("%016lx\n", hash(box, PAGE));
	if (!sigsetjmp(back, 1))
		__asm__ volatile("movups %%xmm0, (%0)" ::"r"(edge) : "memory");
	printf("%016lx\n", hash(box, PAGE));
	/* An element after the other. */
	if (!sigsetjmp(back, 1))
		__asm__ volatile("rep stosb"
				 : "+D"(to), "+c"(count)
				 : "a"(7)
				 : "memory");
	printf("%016lx\n", hash(box, PAGE));
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_bus,
				    .sa_flags = SA_SIGINFO };

	setbuf(stdout, NULL);
	sigaction(SIGBUS, &action, NULL);
	map_file(MAP_PRIVATE);
	stores();
	map_file(MAP_SHARED);
	stores();
	return 0;
}
