/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* Reading into watched memory and writing from it, in many shapes. */
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/targets/target.h"

static struct {
	char a[100], b[5000], c[300];
	struct iovec parts[3];
	struct msghdr message;
	char control[64];
} box;

static void fill(char *data, size_t size, int seed)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (char)(i * 7 + seed);
}

static void set_parts(void)
{
	box.parts[0] = (struct iovec){ box.a, sizeof(box.a) };
	box.parts[1] = (struct iovec){ box.b, sizeof(box.b) };
	box.parts[2] = (struct iovec){ box.c, sizeof(box.c) };
}

static void print(const char *what, ssize_t n)
{
	printf("%s %zd %016lx %016lx %016lx\n", what, n,
	       hash(box.a, sizeof(box.a)), hash(box.b, sizeof(box.b)),
	       hash(box.c, sizeof(box.c)));
}

static void clear(void)
{
	memset(box.a, 0, sizeof(box.a));
	memset(box.b, 0, sizeof(box.b));
	memset(box.c, 0, sizeof(box.c));
}

int main(void)
{
	int fds[2], sockets[2];

	expect(pipe(fds) == 0);
	expect(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
	set_parts();

	fill(box.b, sizeof(box.b), 1);
	print("write", write(fds[1], box.b, 1000));
	clear();
	print("read", read(fds[0], box.b + 500, 4000));
	fill(box.a, sizeof(box.a), 2);
	fill(box.c, sizeof(box.c), 3);
	print("writev", writev(fds[1], box.parts, 3));
	clear();
	print("readv", readv(fds[0], box.parts, 3));

	box.message.msg_iov = box.parts;
	box.message.msg_iovlen = 3;
	print("sendmsg", sendmsg(sockets[0], &box.message, 0));
	clear();
	box.message.msg_control = box.control;
	box.message.msg_controllen = sizeof(box.control);
	print("recvmsg", recvmsg(sockets[1], &box.message, 0));
	printf("flags %d control %zu\n", box.message.msg_flags,
	       box.message.msg_controllen);
	print("send", send(sockets[0], box.c, 200, 0));
	clear();
	print("recv", recv(sockets[1], box.a, sizeof(box.a), 0));
	print("pwrite", pwrite(fds[1], box.a, 10, 0));
	return 0;
}
