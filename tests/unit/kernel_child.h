/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * kernel_child - children to ask the kernel with, and waiting for them
 *
 * They are killed with the test, and by an alarm of their own at the latest.
 * What fails here fails the test.
 */

#include "base/macro.h"
#include "tracer/process/ptrace.h"
#include "tracer/process/stop.h"

/* Memory that the test and its child share. */
struct shared {
	volatile int ready, go;
	volatile int64_t result;
	volatile uint64_t turns;
};

/* Run @body in a child; SIGSEGV and SIGTRAP have their defaults there. */
pid_t child_start(void (*body)(struct shared *shared), struct shared *shared);

/* In the child: say ready, and wait for go without a system call. */
void child_spin(struct shared *shared);

void child_wait_ready(const struct shared *shared);

/* Until *@tid of @pid (0: not known yet) sleeps in the call @number. */
void child_wait_in(pid_t pid, const volatile pid_t *tid, long number);

/* Once it is ready; it stands in the stop of our interrupt then. */
void child_seize(pid_t pid, const struct shared *shared, unsigned long options);

/* Its next stop, or its end. */
struct stop child_stop(pid_t pid);

/* PF_* of the one task beside the first, 0 if there is none. */
unsigned child_other_task_flags(pid_t pid);
