/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "tests/unit/live.h"

static void check(bool right)
{
	if (!right)
		abort();
}

static void pair(int type, int fds[2])
{
	check(socketpair(AF_UNIX, type, 0, fds) == 0);
}

/* A UDP socket on a port of its own, and its address. */
static int udp_socket(struct sockaddr_in *name)
{
	socklen_t size = sizeof(*name);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	*name = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	check(fd >= 0 && !bind(fd, (struct sockaddr *)name, sizeof(*name)) &&
	      !getsockname(fd, (struct sockaddr *)name, &size));

	return fd;
}

/* A UDP socket for which a datagram has come. */
static int udp_received(unsigned datagrams)
{
	struct sockaddr_in name;
	int fd = udp_socket(&name), from = socket(AF_INET, SOCK_DGRAM, 0);

	while (datagrams--)
		check(sendto(from, "datagram", 8, 0, (struct sockaddr *)&name,
			     sizeof(name)) == 8);

	return fd;
}

static void *length(struct scene *s, socklen_t size)
{
	return scene_data(s, &size, sizeof(size));
}

static void set_socketpair(struct scene *s)
{
	SCENE_CALL(s, SYS_socketpair, AF_UNIX, SOCK_STREAM, 0,
		   P(scene_space(s, 8)));
}

static void set_sendto(struct scene *s)
{
	struct sockaddr_in name;
	int fd = udp_socket(&name);

	SCENE_CALL(s, SYS_sendto, fd, P(scene_text(s, "abc")), 3, 0,
		   P(scene_data(s, &name, sizeof(name))), sizeof(name));
}

static void set_recvfrom(struct scene *s)
{
	SCENE_CALL(s, SYS_recvfrom, udp_received(1), P(scene_space(s, 64)), 64,
		   0, P(scene_space(s, 28)), P(length(s, 28)));
}

static void set_recvfrom_short(struct scene *s)
{
	SCENE_CALL(s, SYS_recvfrom, udp_received(1), P(scene_space(s, 3)), 3,
		   MSG_TRUNC, P(scene_space(s, 5)), P(length(s, 5)));
}

static void set_recvfrom_stream(struct scene *s)
{
	int fds[2];

	pair(SOCK_STREAM, fds);
	check(write(fds[1], "abcdef", 6) == 6);
	SCENE_CALL(s, SYS_recvfrom, fds[0], P(scene_space(s, 64)), 64, 0,
		   P(scene_space(s, 28)), P(length(s, 28)));
}

static void set_recv_empty(struct scene *s)
{
	int fds[2];

	pair(SOCK_STREAM, fds);
	SCENE_CALL(s, SYS_recvfrom, fds[0], P(scene_space(s, 64)), 64,
		   MSG_DONTWAIT, P(scene_space(s, 28)), P(length(s, 28)));
}

/* Two parts, with room for a name and control data. */
static struct msghdr message(struct scene *s, size_t first, size_t second)
{
	struct iovec iov[2] = {
		{ scene_space(s, first), first },
		{ scene_space(s, second), second },
	};

	return (struct msghdr){
		.msg_iov = scene_data(s, iov, sizeof(iov)),
		.msg_iovlen = 2,
	};
}

static void add_rights(struct scene *s, struct msghdr *msg)
{
	struct cmsghdr *control = scene_space(s, CMSG_SPACE(sizeof(int)));
	int fd = 1;

	memset(control, 0, CMSG_SPACE(sizeof(int)));
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(control), &fd, sizeof(fd));
	msg->msg_control = control;
	msg->msg_controllen = CMSG_SPACE(sizeof(int));
}

static void set_sendmsg(struct scene *s)
{
	struct msghdr msg = message(s, 4, 12);
	int fds[2];

	pair(SOCK_STREAM, fds);
	add_rights(s, &msg);
	SCENE_CALL(s, SYS_sendmsg, fds[0], P(scene_data(s, &msg, sizeof(msg))),
		   0);
}

static void set_recvmsg_rights(struct scene *s)
{
	struct scene beside = { .arena = calloc(1, LIVE_ARENA) };
	struct msghdr sent = message(&beside, 4, 12), msg;
	int fds[2];

	pair(SOCK_STREAM, fds);
	add_rights(&beside, &sent);
	check(sendmsg(fds[1], &sent, 0) == 16);
	free(beside.arena);

	msg = message(s, 7, 30);
	msg.msg_control = scene_space(s, 64);
	msg.msg_controllen = 64;
	SCENE_CALL(s, SYS_recvmsg, fds[0], P(scene_data(s, &msg, sizeof(msg))),
		   0);
}

static void set_recvmsg_name(struct scene *s)
{
	struct msghdr msg = message(s, 3, 30);

	msg.msg_name = scene_space(s, 28);
	msg.msg_namelen = 28;
	SCENE_CALL(s, SYS_recvmsg, udp_received(1),
		   P(scene_data(s, &msg, sizeof(msg))), 0);
}

static struct mmsghdr *messages(struct scene *s, unsigned count, bool named)
{
	struct mmsghdr array[4] = { 0 };
	unsigned i;

	for (i = 0; i < count; i++) {
		array[i].msg_hdr = message(s, 3, 16);
		if (!named)
			continue;
		array[i].msg_hdr.msg_name = scene_space(s, 28);
		array[i].msg_hdr.msg_namelen = 28;
	}

	return scene_data(s, array, count * sizeof(*array));
}

static void set_recvmmsg(struct scene *s)
{
	struct timespec limit = { 0, 1000000 };

	SCENE_CALL(s, SYS_recvmmsg, udp_received(2), P(messages(s, 4, true)), 4,
		   MSG_WAITFORONE, P(scene_data(s, &limit, sizeof(limit))));
}

static void set_sendmmsg(struct scene *s)
{
	int fds[2];

	pair(SOCK_DGRAM, fds);
	SCENE_CALL(s, SYS_sendmmsg, fds[0], P(messages(s, 3, false)), 3, 0);
}

/* A listening socket with a connection that waits. */
static int listening(void)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	check(!bind(fd, (struct sockaddr *)&name, size) && !listen(fd, 3) &&
	      !getsockname(fd, (struct sockaddr *)&name, &size) &&
	      !connect(socket(AF_INET, SOCK_STREAM, 0),
		       (struct sockaddr *)&name, size));

	return fd;
}

static void set_accept(struct scene *s)
{
	SCENE_CALL(s, SYS_accept, listening(), P(scene_space(s, 28)),
		   P(length(s, 28)));
}

static void set_accept4(struct scene *s)
{
	SCENE_CALL(s, SYS_accept4, listening(), P(scene_space(s, 28)),
		   P(length(s, 7)), SOCK_CLOEXEC);
}

static void set_getsockname(struct scene *s)
{
	SCENE_CALL(s, SYS_getsockname, listening(), P(scene_space(s, 28)),
		   P(length(s, 28)));
}

static void set_connect(struct scene *s)
{
	struct sockaddr_in name;

	close(udp_socket(&name));
	SCENE_CALL(s, SYS_connect, socket(AF_INET, SOCK_DGRAM, 0),
		   P(scene_data(s, &name, sizeof(name))), sizeof(name));
}

static void set_bind(struct scene *s)
{
	struct sockaddr_in name = { .sin_family = AF_INET };

	SCENE_CALL(s, SYS_bind, socket(AF_INET, SOCK_STREAM, 0),
		   P(scene_data(s, &name, sizeof(name))), sizeof(name));
}

static void set_getsockopt(struct scene *s)
{
	SCENE_CALL(s, SYS_getsockopt, listening(), SOL_SOCKET, SO_RCVBUF,
		   P(scene_space(s, 16)), P(length(s, 16)));
}

static void set_peer(struct scene *s)
{
	int fds[2];

	pair(SOCK_STREAM, fds);
	SCENE_CALL(s, SYS_getsockopt, fds[0], SOL_SOCKET, SO_PEERCRED,
		   P(scene_space(s, 12)), P(length(s, 12)));
}

/* Two instructions, of which the length, 3, says how many fit. */
static void set_get_filter(struct scene *s)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_IMM, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffff),
	};
	struct sock_fprog program = { ARRAY_SIZE(code), code };
	int fd = listening();

	check(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
			 sizeof(program)) == 0);
	SCENE_CALL(s, SYS_getsockopt, fd, SOL_SOCKET, SO_GET_FILTER,
		   P(scene_space(s, 3 * sizeof(code[0]))), P(length(s, 3)));
}

static void set_setsockopt(struct scene *s)
{
	struct timeval limit = { 1, 0 };

	SCENE_CALL(s, SYS_setsockopt, listening(), SOL_SOCKET, SO_RCVTIMEO,
		   P(scene_data(s, &limit, sizeof(limit))), sizeof(limit));
}

static void set_filter(struct scene *s)
{
	struct sock_filter code = BPF_STMT(BPF_RET | BPF_K, 0xffff);
	struct sock_fprog program;

	/* Its padding, too. */
	memset(&program, 0, sizeof(program));
	program.len = 1;
	program.filter = scene_data(s, &code, sizeof(code));
	SCENE_CALL(s, SYS_setsockopt, listening(), SOL_SOCKET, SO_ATTACH_FILTER,
		   P(scene_data(s, &program, sizeof(program))),
		   sizeof(program));
}

static const struct live_case rows[] = {
	{ "socketpair", set_socketpair, 0 },
	{ "sendto", set_sendto, LIVE_CHANGES },
	{ "recvfrom", set_recvfrom, LIVE_CHANGES },
	{ "recvfrom short", set_recvfrom_short, LIVE_CHANGES },
	{ "recvfrom stream", set_recvfrom_stream, 0 },
	{ "recvfrom empty", set_recv_empty, LIVE_FAILS },
	{ "sendmsg rights", set_sendmsg, 0 },
	{ "recvmsg rights", set_recvmsg_rights, 0 },
	{ "recvmsg name", set_recvmsg_name, LIVE_CHANGES },
	{ "recvmmsg", set_recvmmsg, LIVE_CHANGES },
	{ "sendmmsg", set_sendmmsg, 0 },
	{ "accept", set_accept, LIVE_CHANGES },
	{ "accept4 short", set_accept4, LIVE_CHANGES },
	{ "getsockname", set_getsockname, LIVE_CHANGES },
	{ "connect", set_connect, LIVE_CHANGES },
	{ "bind", set_bind, 0 },
	{ "getsockopt", set_getsockopt, 0 },
	{ "getsockopt filter", set_get_filter, 0 },
	{ "SO_PEERCRED", set_peer, LIVE_CHANGES },
	{ "setsockopt", set_setsockopt, 0 },
	{ "SO_ATTACH_FILTER", set_filter, LIVE_MAY_FAIL },
};

const struct live_cases live_network = { rows, ARRAY_SIZE(rows) };
