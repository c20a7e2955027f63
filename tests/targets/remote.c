/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* options: -f */
/*
 * Two processes that reach into each other by process_vm_readv(2) and
 * process_vm_writev(2), in watched memory: a child into its parent, which
 * sleeps in waitpid(2), and the parent into a child that sleeps in read(2).
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGES = 4, PAGE = 4096 };

static struct {
	_Alignas(PAGE) char text[PAGES * PAGE];
	_Alignas(PAGE) long number;
} box;

static char copy[PAGES * PAGE];

static struct iovec piece(const volatile void *at, size_t size)
{
	return (struct iovec){ (void *)(uintptr_t)at, size };
}

static void reach(pid_t pid, char *hole)
{
	struct iovec here[] = { piece(copy, 5), piece(copy + 5, 7) };
	struct iovec there[] = { piece(box.text, 3), piece(box.text + 3, 9) };
	struct iovec all = piece(copy, sizeof(copy));
	struct iovec into = piece(box.text, sizeof(copy));
	struct iovec end = piece(hole, 2 * PAGE), word = piece(&box.number, 8);
	struct iovec closed = piece(box.text + PAGE - 4, 8);

	expect(process_vm_readv(pid, here, 2, there, 2, 0) == 12);
	expect(memcmp(copy, "hello, world", 12) == 0);
	memcpy(copy, "HELLO", 5);
	expect(process_vm_writev(pid, here, 2, there, 2, 0) == 12);
	memset(copy, 'x', sizeof(copy));
	expect(process_vm_readv(pid, &all, 1, &into, 1, 0) == sizeof(copy));
	expect(memcmp(copy, "HELLO, world", 12) == 0 && copy[PAGE] == 'p');

	/* Into watched memory of its own. */
	expect(process_vm_readv(pid, &closed, 1, &closed, 1, 0) == 8);
	expect(process_vm_readv(pid, &word, 1, &word, 1, 0) == 8);
	expect(box.number == 7);
	box.number++;
	expect(process_vm_writev(pid, &word, 1, &word, 1, 0) == 8);

	/* Up to the first page that is not there, or may not be written. */
	expect(process_vm_readv(pid, &all, 1, &end, 1, 0) == PAGE);
	end.iov_base = hole + PAGE;
	expect(process_vm_readv(pid, &all, 1, &end, 1, 0) == -1 &&
	       errno == EFAULT);
	end.iov_base = hole - PAGE;
	expect(process_vm_writev(pid, &all, 1, &end, 1, 0) == -1 &&
	       errno == EFAULT);
}

static void fill(void)
{
	memset(box.text, 'p', sizeof(box.text));
	strcpy(box.text, "hello, world");
	box.number = 7;
}

int main(void)
{
	char *hole = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid(), child;
	int go[2], status;

	expect(hole != MAP_FAILED);
	expect(munmap(hole + 2 * PAGE, PAGE) == 0);
	expect(mprotect(hole, PAGE, PROT_READ) == 0);
	fill();
	expect(pipe(go) == 0);
	child = fork();
	if (child == 0) {
		reach(parent, hole + PAGE);
		_exit(11);
	}
	expect(waitpid(child, &status, 0) == child);
	printf("%d %.12s %ld\n", WEXITSTATUS(status), box.text, box.number);
	fflush(stdout);

	fill();
	child = fork();
	if (child == 0) {
		close(go[1]);
		expect(read(go[0], &status, 1) == 0);
		printf("%.12s %ld\n", box.text, box.number);
		fflush(stdout);
		_exit(12);
	}
	reach(child, hole + PAGE);
	close(go[1]);
	expect(waitpid(child, &status, 0) == child);
	printf("%d\n", WEXITSTATUS(status));
	return 0;
}
