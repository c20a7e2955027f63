/* SPDX-License-Identifier: Apache-2.0 */
/* watch: transfers:block */
/*
 * Large transfers that wait for a slow reader or writer, by the call that is
 * named: each has to be whole, and what is written has to arrive in order.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
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

/* What is written at @place of a transfer. */
static char byte_of(size_t place)
{
	return (char)(place ^ place >> 11);
}

/* The other side, in small pieces. */
static void *slowly(void *unused)
{
	char piece[PIECE] = "";
	bool sends = receives(); /* what it reads lies beside what is watched */

	for (size_t done = 0; done < (size_t)TIMES * SIZE;) {
		ssize_t r = sends ? write(pair[1], piece, PIECE)
				  : read(pair[0], piece, PIECE);

		expect(r > 0);
		for (ssize_t i = 0; i < r && !sends; i++, done++)
			expect(piece[i] == byte_of(done % SIZE));
		done += sends ? (size_t)r : 0;
		usleep(500);
	}
	return unused;
}

static ssize_t transfer(int file)
{
	struct iovec part[] = {
		{ block, 5000 },	  { block + 5000, 0 },
		{ block + 5000, 400000 }, { block + 405000, SIZE - 405001 },
		{ block + SIZE - 1, 1 },
	};
	const struct msghdr message = { .msg_iov = part, .msg_iovlen = 5 };
	off_t start = 0;

	if (!strcmp(name, "write"))
		return write(pair[1], block, SIZE);
	if (!strcmp(name, "writev"))
		return writev(pair[1], part, 5);
	if (!strcmp(name, "sendmsg"))
		return sendmsg(pair[1], &message, 0);
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
	char *whole;

	name = argc > 1 ? argv[1] : "write";
	whole = malloc(SIZE);
	expect(whole);
	for (size_t i = 0; i < SIZE; i++)
		whole[i] = byte_of(i);
	expect(write(file, whole, SIZE) == SIZE);
	expect(pread(file, block, SIZE, 0) == SIZE);
	free(whole);
	expect((strncmp(name, "write", 5)
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
