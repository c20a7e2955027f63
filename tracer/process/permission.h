/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * permission - why a process or a program cannot be traced, in one sentence
 *
 * The kernel says EPERM for a dozen reasons; this looks for the one, and tells
 * what helps.  It attaches to nothing, and what it finds may be out of date at
 * once: it explains a refusal, it is no guard against one.
 */

#include <sys/types.h>

#include "base/error.h"

/* The exit statuses that clsrun gives for them (as env(1) and the shell). */
enum permission_answer {
	PERMISSION_UNSUITABLE = 125,	 /* of another kind than we trace */
	PERMISSION_NOT_EXECUTABLE = 126, /* or not readable */
	PERMISSION_NOT_FOUND = 127,
};

#define PERMISSION_YAMA "/proc/sys/kernel/yama/ptrace_scope"

/*
 * Why PTRACE_SEIZE of @pid failed with @number (-errno): the sentence goes to
 * @err and @number is returned.  With @number 0 it is a check before the
 * attempt: 0, or -errno where it can only fail (no such process, a zombie, a
 * kernel thread, already traced, not x86-64, ourselves).
 *
 * @yama_path is PERMISSION_YAMA, or a file in its place for tests.
 */
int permission_explain(pid_t pid, int number, const char *yama_path,
		       struct error *err) _must_check_;

/*
 * Whether @path, looked up as execvp(3) does, is a program that we trace: 0,
 * an enum permission_answer with the sentence, or -errno.  A script is.
 */
int permission_check_program(const char *path, struct error *err) _must_check_;
