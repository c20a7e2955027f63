/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that changes the map takes long; meanwhile another thread works in
 * the memory that it is about.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { PAGE_SIZE = 4096, POPULATE_WRITE = 23 /* MADV_POPULATE_WRITE */ };

static const size_t size = 256 << 20;
static volatile int stop;

static void *work(void *memory)
{
	volatile long *counter = memory;

	while (!stop) {
		++*counter;
		usleep(500);
	}
	return NULL;
}

int main(void)
{
	/* where no arena of the C library's would begin */
	char *memory =
		mmap((void *)0x200001000, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	pthread_t thread;

	expect(memory == (void *)0x200001000);
	expect(pthread_create(&thread, NULL, work, memory + PAGE_SIZE) == 0);
	usleep(50000);
	expect(madvise(memory, size, POPULATE_WRITE) == 0);
	stop = 1;
	expect(pthread_join(thread, NULL) == 0);
	puts("populated");
	return 0;
}
