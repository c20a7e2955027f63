/* SPDX-License-Identifier: Apache-2.0 */
/* watch: transfers:block */
/*
 * Large transfers that wait for a slow reader or writer, by the call that is
 * named: each has to be whole.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { SIZE = 1 << 20, PIECE = 1 << 15, TIMES = 30 };

static char block[SIZE];
static int pair[2];
static const char *name;

static bool receives(void)
{
	return !strcmp(name, "recv");
}

/* The other side, in small pieces. */
static void *slowly(void *unused)
{
	static char piece[PIECE];

	for (size_t done = 0; done < (size_t)TIMES * SIZE;) {
		ssize_t r = receives() ? write(pair[1], piece, PIECE)
				       : read(pair[0], piece, PIECE);

		expect(r > 0);
		done += (size_t)r;
		usleep(500);
	}
	return unused;
}

static ssize_t transfer(int file)
{
	off_t start = 0;

	if (!strcmp(name, "write"))
		return write(pair[1], block, SIZE);
	if (!strcmp(name, "send"))
		return send(pair[1], block, SIZE, 0);
	if (receives())
		return recv(pair[0], block, SIZE, MSG_WAITALL);
	return sendfile(pair[1], file, &start, SIZE);
}

int main(int argc, char **argv)
{
	int file = memfd_create("file", 0), parts = 0;
	pthread_t thread;

	name = argc > 1 ? argv[1] : "write";
	expect(ftruncate(file, SIZE) == 0);
	expect((strcmp(name, "write")
			? socketpair(AF_UNIX, SOCK_STREAM, 0, pair)
			: pipe(pair)) == 0);
	expect(pthread_create(&thread, NULL, slowly, NULL) == 0);
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; i < TIMES; i++)
		parts += transfer(file) != SIZE;
	pthread_join(thread, NULL);
	printf("%d of %d in part\n", parts, TIMES);
	return 0;
}
