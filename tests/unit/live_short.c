/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose result or length is not what they wrote: the buffer is too
 * short, longer than what there is, or not looked at.
 */
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/live.h"

static void check(bool right)
{
	if (!right)
		abort();
}

static void *length(struct scene *s, socklen_t size)
{
	return scene_data(s, &size, sizeof(size));
}

static uint64_t key(void)
{
	return (uint64_t)syscall(SYS_add_key, "user", "cls", "secret", 6, -2);
}

static void set_keyctl_read_short(struct scene *s)
{
	SCENE_CALL(s, SYS_keyctl, 11, key(), P(scene_space(s, 3)), 3);
}

static void set_keyctl_describe_short(struct scene *s)
{
	SCENE_CALL(s, SYS_keyctl, 6, key(), P(scene_space(s, 4)), 4);
}

static void set_keyctl_security(struct scene *s)
{
	SCENE_CALL(s, SYS_keyctl, 17, key(), P(scene_space(s, 64)), 64);
}

static void set_keyctl_capabilities(struct scene *s)
{
	SCENE_CALL(s, SYS_keyctl, 31, P(scene_space(s, 16)), 16);
}

static void set_keyctl_capabilities_short(struct scene *s)
{
	SCENE_CALL(s, SYS_keyctl, 31, P(scene_space(s, 1)), 1);
}

/* Two ends of a connection, the first of which has "abcdef" to be read. */
static void connection(int fds[2])
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(name);
	int all = socket(AF_INET, SOCK_STREAM, 0);

	check(bind(all, (struct sockaddr *)&name, size) == 0 &&
	      listen(all, 1) == 0 &&
	      getsockname(all, (struct sockaddr *)&name, &size) == 0);
	fds[1] = socket(AF_INET, SOCK_STREAM, 0);
	check(connect(fds[1], (struct sockaddr *)&name, size) == 0);
	fds[0] = accept(all, NULL, NULL);
	check(fds[0] >= 0 && send(fds[1], "abcdef", 6, 0) == 6);
}

/* It throws away what was sent, and looks at no buffer. */
static void set_recv_discards(struct scene *s)
{
	int fds[2];

	connection(fds);
	SCENE_CALL(s, SYS_recvfrom, fds[0], P(scene_space(s, 16)), 16,
		   MSG_TRUNC, 0, 0);
}

static void set_recvmsg_discards(struct scene *s)
{
	struct iovec iov = { scene_space(s, 16), 16 };
	struct msghdr msg = {
		.msg_iov = scene_data(s, &iov, sizeof(iov)),
		.msg_iovlen = 1,
	};
	int fds[2];

	connection(fds);
	SCENE_CALL(s, SYS_recvmsg, fds[0], P(scene_data(s, &msg, sizeof(msg))),
		   MSG_TRUNC);
}

static void set_tcp_info_short(struct scene *s)
{
	int fds[2];

	connection(fds);
	SCENE_CALL(s, SYS_getsockopt, fds[0], IPPROTO_TCP, TCP_INFO,
		   P(scene_space(s, 5)), P(length(s, 5)));
}

static void set_tcp_info_long(struct scene *s)
{
	int fds[2];

	connection(fds);
	SCENE_CALL(s, SYS_getsockopt, fds[0], IPPROTO_TCP, TCP_INFO,
		   P(scene_space(s, 1024)), P(length(s, 1024)));
}

static void set_peername_short(struct scene *s)
{
	int fds[2];

	connection(fds);
	SCENE_CALL(s, SYS_getpeername, fds[0], P(scene_space(s, 5)),
		   P(length(s, 5)));
}

static void set_tos(struct scene *s)
{
	SCENE_CALL(s, SYS_getsockopt, socket(AF_INET, SOCK_DGRAM, 0),
		   IPPROTO_IP, IP_TOS, P(scene_space(s, 2)), P(length(s, 2)));
}

static void set_linger_short(struct scene *s)
{
	SCENE_CALL(s, SYS_getsockopt, socket(AF_INET, SOCK_STREAM, 0),
		   SOL_SOCKET, SO_LINGER, P(scene_space(s, 3)),
		   P(length(s, 3)));
}

static void set_peergroups_short(struct scene *s)
{
	int fds[2];

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	SCENE_CALL(s, SYS_getsockopt, fds[0], SOL_SOCKET, SO_PEERGROUPS,
		   P(scene_space(s, 1)), P(length(s, 1)));
}

static void set_memberships(struct scene *s)
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), group = 1;

	check(setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
			 sizeof(group)) == 0);
	SCENE_CALL(s, SYS_getsockopt, fd, SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS,
		   P(scene_space(s, 2)), P(length(s, 2)));
}

static void set_recvmsg_control_short(struct scene *s)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { .header = { .cmsg_len = CMSG_LEN(2 * sizeof(int)),
				  .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (char[]){ "a" }, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int fds[2];

	memset(CMSG_DATA(&control.header), 0, 2 * sizeof(int));
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 &&
	      sendmsg(fds[1], &msg, 0) == 1);
	iov.iov_base = scene_space(s, 1);
	msg.msg_iov = scene_data(s, &iov, sizeof(iov));
	msg.msg_control = scene_space(s, 21);
	msg.msg_controllen = 21;
	SCENE_CALL(s, SYS_recvmsg, fds[0], P(scene_data(s, &msg, sizeof(msg))),
		   0);
}

static void remove_queue(int id)
{
	msgctl(id, IPC_RMID, NULL);
}

static void set_msgrcv_cut(struct scene *s)
{
	struct {
		long type;
		char text[8];
	} message = { 1, "message" };
	int queue = msgget(IPC_PRIVATE, 0600);

	s->id = queue;
	s->clean = remove_queue;
	check(queue >= 0 && msgsnd(queue, &message, 8, 0) == 0);
	SCENE_CALL(s, SYS_msgrcv, queue, P(scene_space(s, 11)), 3, 0,
		   MSG_NOERROR);
}

static void set_interfaces_short(struct scene *s)
{
	struct ifconf conf = { .ifc_len = 20 };

	conf.ifc_buf = scene_space(s, 20);
	SCENE_CALL(s, SYS_ioctl, socket(AF_INET, SOCK_DGRAM, 0), SIOCGIFCONF,
		   P(scene_data(s, &conf, sizeof(conf))));
}

static void set_auxv_short(struct scene *s)
{
	SCENE_CALL(s, SYS_prctl, 0x41555856 /* PR_GET_AUXV */,
		   P(scene_space(s, 24)), 24, 0, 0);
}

static void set_readlink_short(struct scene *s)
{
	SCENE_CALL(s, SYS_readlink, P(scene_text(s, "/proc/self/exe")),
		   P(scene_space(s, 4)), 4);
}

static void set_affinity_long(struct scene *s)
{
	SCENE_CALL(s, SYS_sched_getaffinity, 0, 4096, P(scene_space(s, 4096)));
}

static void set_sched_getattr_long(struct scene *s)
{
	SCENE_CALL(s, SYS_sched_getattr, 0, P(scene_space(s, 128)), 128, 0);
}

static void set_unnamed(struct scene *s)
{
	int fds[2];

	check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	SCENE_CALL(s, SYS_getpeername, fds[0], P(scene_space(s, 40)),
		   P(length(s, 40)));
}

static const struct live_case rows[] = {
	LIVE_ROW(keyctl_read_short, LIVE_MAY_FAIL),
	LIVE_ROW(keyctl_describe_short, LIVE_MAY_FAIL),
	LIVE_ROW(keyctl_security, LIVE_MAY_FAIL),
	LIVE_ROW(keyctl_capabilities, LIVE_MAY_FAIL),
	LIVE_ROW(keyctl_capabilities_short, LIVE_MAY_FAIL),
	LIVE_ROW(recv_discards, LIVE_MAY_FAIL),
	LIVE_ROW(recvmsg_discards, 0),
	LIVE_ROW(tcp_info_short, LIVE_CHANGES),
	LIVE_ROW(tcp_info_long, LIVE_CHANGES),
	LIVE_ROW(peername_short, LIVE_CHANGES),
	LIVE_ROW(tos, 0),
	LIVE_ROW(linger_short, 0),
	LIVE_ROW(peergroups_short, LIVE_MAY_FAIL),
	LIVE_ROW(memberships, LIVE_MAY_FAIL),
	LIVE_ROW(recvmsg_control_short, LIVE_CHANGES),
	LIVE_ROW(msgrcv_cut, LIVE_MAY_FAIL),
	LIVE_ROW(interfaces_short, 0),
	LIVE_ROW(auxv_short, LIVE_MAY_FAIL | LIVE_MOVES),
	LIVE_ROW(readlink_short, LIVE_MOVES),
	LIVE_ROW(affinity_long, 0),
	LIVE_ROW(sched_getattr_long, 0),
	LIVE_ROW(unnamed, 0),
};

const struct live_cases live_short = { rows, ARRAY_SIZE(rows) };
