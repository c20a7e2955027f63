/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * special - system calls whose memory depends on a command or a flag
 *
 * Functions for the rows of syscalls_table.h that rules cannot express.
 */

#include "tracer/guard/plan.h"

/* special_ioctl.c */
void special_ioctl(struct planner *planner);
void special_fcntl(struct planner *planner);

/* special_ipc.c */
void special_shmctl(struct planner *planner);
void special_semctl(struct planner *planner);
void special_msgctl(struct planner *planner);
void special_mq_open(struct planner *planner);
void special_mq_notify(struct planner *planner);
void special_setsockopt(struct planner *planner);
void special_getsockopt(struct planner *planner);
void special_sendto(struct planner *planner);
void special_sendmsg(struct planner *planner);
void special_sendmmsg(struct planner *planner);
void special_recvfrom(struct planner *planner);
void special_recvmsg(struct planner *planner);
void special_recvmmsg(struct planner *planner);
void special_epoll_ctl(struct planner *planner);
void special_io_submit(struct planner *planner);
void special_sigmask(struct planner *planner);
void special_vmsplice(struct planner *planner);

/* special_process.c */
void special_prctl(struct planner *planner);
void special_arch_prctl(struct planner *planner);
void special_ptrace(struct planner *planner);
void special_clone(struct planner *planner);
void special_clone3(struct planner *planner);
void special_execve(struct planner *planner);
void special_execveat(struct planner *planner);
void special_seccomp(struct planner *planner);
void special_kcmp(struct planner *planner);
void special_ldt(struct planner *planner);

/* special_futex.c */
void special_futex(struct planner *planner);
void special_futex_wait(struct planner *planner);
void special_futex_wake(struct planner *planner);
void special_futex_waiters(struct planner *planner);
void special_futex_requeue(struct planner *planner);

/* special_kernel.c: administration, and structures that tell their size */
void special_cap(struct planner *planner);
void special_mount(struct planner *planner);
void special_fsconfig(struct planner *planner);
void special_sysfs(struct planner *planner);
void special_quotactl(struct planner *planner);
void special_quotactl_fd(struct planner *planner);
void special_keyctl(struct planner *planner);
void special_syslog(struct planner *planner);
void special_landlock(struct planner *planner);
void special_perf(struct planner *planner);
void special_sched_setattr(struct planner *planner);
void special_request(struct planner *planner);
void special_handle(struct planner *planner);
void special_open_handle(struct planner *planner);
void special_xattrat(struct planner *planner);
