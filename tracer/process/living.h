/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * living - through which of its threads a process can be read in /proc
 *
 * /proc/PID is its first thread.  When that one has ended and others live on,
 * it is a zombie: no maps, mem, exe, fd or root there, but in /proc/TID of
 * each thread that lives.
 */

#include <sys/types.h>

#include "base/macro.h"

/* Has the thread @tid its memory?  Not: it is gone, dying, or a zombie. */
bool living(pid_t tid);

/* @pid if it lives, or another thread of the process, or 0. */
pid_t living_thread(pid_t pid);
