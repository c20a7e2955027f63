/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/guard/special.h"
#include "tracer/guard/syscalls_table.h"

/* From here on the numbers are the same for all architectures. */
#define FIRST __NR_pidfd_send_signal

static const struct syscall_row rows[] = {
	CALL(pidfd_send_signal, 0, IN(2, SIZE_SIGINFO)),
	CALL(io_uring_setup, CALL_LATER, BOTH(1, SIZE_URING_PARAMS)),
	/* The addresses are in a ring that the kernel shares. */
	UNKNOWN(io_uring_enter, CALL_BLOCKS | CALL_LATER),
	UNKNOWN(io_uring_register, CALL_LATER),
	CALL(open_tree, 0, STR(1)),
	CALL(move_mount, 0, STR(1), STR(3)),
	CALL(fsopen, 0, STR(0)),
	MORE(fsconfig, CALL_BLOCKS, special_fsconfig),
	CALL(fsmount, 0),
	CALL(fspick, 0, STR(1)),
	CALL(pidfd_open, 0),
	PLACE(clone3, CALL_BLOCKS, special_clone3),
	CALL(close_range, 0),
	CALL(openat2, CALL_BLOCKS, STR(1), IN_N(2, 3, 1)),
	CALL(pidfd_getfd, 0),
	CALL(faccessat2, 0, STR(1)),
	/* The vectors name another process's memory, or are advice. */
	CALL(process_madvise, CALL_MAPS, IN_N(1, 2, SIZE_IOVEC)),
	CALL(epoll_pwait2, CALL_BLOCKS, FILL_INT(1, 2, SIZE_EPOLL_EVENT),
	     IN(3, SIZE_TIME), IN(4, SIZE_SIGSET)),
	CALL(mount_setattr, 0, STR(1), IN_N(3, 4, 1)),
	MORE(quotactl_fd, 0, special_quotactl_fd),
	CALL(landlock_create_ruleset, 0, IN_N(0, 1, 1)),
	MORE(landlock_add_rule, 0, special_landlock),
	CALL(landlock_restrict_self, 0),
	CALL(memfd_secret, 0),
	CALL(process_mrelease, 0),
	PLACE(futex_waitv, CALL_BLOCKS | CALL_FUTEX, special_futex_waiters,
	      IN(3, SIZE_TIME)),
	CALL(set_mempolicy_home_node, CALL_MAPS),
	CALL(cachestat, 0, IN(1, 16), OUT(2, 40)),
	CALL(fchmodat2, 0, STR(1)),
	CALL(map_shadow_stack, CALL_MAPS),
	PLACE(futex_wake, CALL_FUTEX, special_futex_wake),
	PLACE(futex_wait, CALL_BLOCKS | CALL_FUTEX, special_futex_wait,
	      IN(4, SIZE_TIME)),
	PLACE(futex_requeue, CALL_FUTEX, special_futex_requeue),
	MORE(statmount, 0, special_request, OUT_N(1, 2, 1)),
	MORE(listmount, 0, special_request, FILL(1, 2, SIZE_LONG)),
	CALL(lsm_get_self_attr, 0, LENGTH(1, 2)),
	CALL(lsm_set_self_attr, 0, IN_INT(1, 2, 1)),
	CALL(lsm_list_modules, 0, LENGTH(0, 1)),
	CALL(mseal, CALL_MAPS),
	MORE(setxattrat, 0, special_xattrat, STR(1), STR(3)),
	MORE(getxattrat, 0, special_xattrat, STR(1), STR(3)),
	CALL(listxattrat, 0, STR(1), FILL(3, 4, 1)),
	CALL(removexattrat, 0, STR(1), STR(3)),
	CALL(open_tree_attr, 0, STR(1), IN_N(3, 4, 1)),
	CALL(file_getattr, 0, STR(1), OUT_N(2, 3, 1)),
	CALL(file_setattr, 0, STR(1), IN_N(2, 3, 1)),
};

const struct syscall_range syscalls_new = { FIRST, ARRAY_SIZE(rows), rows };
