/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* args: 100 */
/*
 * A server that echoes what two clients send by TCP, so many messages in all.
 * Each client waits for its echo, and ends with 1 if it is not the same; it
 * is a child, which is not traced.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { CLIENTS = 2, SIZE = 64 };

static unsigned char box[SIZE];

static int client(const struct sockaddr_in *name, unsigned id, int messages)
{
	unsigned char sent[SIZE], back[SIZE];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (const struct sockaddr *)name, sizeof(*name)))
		return 1;
	for (int i = 0; i < messages; i++) {
		memset(sent, i, SIZE);
		memcpy(sent, &id, sizeof(id));
		if (write(fd, sent, SIZE) != SIZE ||
		    recv(fd, back, SIZE, MSG_WAITALL) != SIZE ||
		    memcmp(sent, back, SIZE))
			return 1;
	}
	return 0;
}

/* Until both have gone. */
static void serve(int fds[CLIENTS], int *reads, int *writes)
{
	struct pollfd poll_fd[CLIENTS];
	int open = CLIENTS;

	for (int i = 0; i < CLIENTS; i++)
		poll_fd[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
	while (open) {
		expect(poll(poll_fd, CLIENTS, -1) > 0);
		for (int i = 0; i < CLIENTS; i++) {
			ssize_t n;

			if (!poll_fd[i].revents)
				continue;
			n = read(poll_fd[i].fd, box, SIZE);
			if (n == 0) {
				poll_fd[i].fd = -1;
				open--;
				continue;
			}
			expect(n == SIZE);
			expect(write(poll_fd[i].fd, box, SIZE) == SIZE);
			++*reads;
			++*writes;
		}
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	socklen_t size = sizeof(name);
	int fds[CLIENTS], listener = socket(AF_INET, SOCK_STREAM, 0);
	int reads = 0, writes = 0, status, messages = 100;

	if (argc > 1)
		messages = atoi(argv[1]);
	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	expect(bind(listener, (struct sockaddr *)&name, size) == 0);
	expect(listen(listener, CLIENTS) == 0);
	expect(getsockname(listener, (struct sockaddr *)&name, &size) == 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		if (fork() == 0)
			_exit(client(&name, i, messages / CLIENTS));
	for (int i = 0; i < CLIENTS; i++)
		fds[i] = accept(listener, NULL, NULL);
	serve(fds, &reads, &writes);
	for (int i = 0; i < CLIENTS; i++) {
		expect(wait(&status) > 0);
		expect(status == 0);
	}
	printf("%d reads, %d writes\n", reads, writes);
	return 0;
}
