/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * mem - the memory of one process through /proc/PID/mem
 *
 * The only way that reaches pages which we closed: process_vm_readv(2) obeys
 * their protection, this file forces it.  The descriptor belongs to one
 * address space; after an exec a new one is needed.
 */

#include <sys/types.h>

#include "base/memory.h"

int mem_open(pid_t pid, int *ret) _must_check_;
/* Its /proc/PID/pagemap, for mem_is_missing(), or -errno. */
int mem_open_pagemap(pid_t pid);

/* All of @size bytes: 0, -EFAULT (also a shared page, writing), -ESRCH. */
int mem_read(int fd, uint64_t addr, void *buffer, size_t size) _must_check_;
int mem_write(int fd, uint64_t addr, const void *buffer,
	      size_t size) _must_check_;

/*
 * The same of much memory in which nothing is closed: the kernel copies it
 * once instead of twice.  False: not all of it, or less than pays, or the
 * thread @pid has no memory any longer.
 */
bool mem_read_open(pid_t pid, uint64_t addr, void *buffer, size_t size);
bool mem_write_open(pid_t pid, uint64_t addr, const void *buffer, size_t size);

/*
 * Is no page of [start, end) there, neither in memory nor swapped out?  (If it
 * cannot be asked, @pagemap < 0, they may be.)  To
 * read private memory would make the kernel fill it, which the process can
 * tell, and a userfaultfd would not be asked for it any more.
 */
bool mem_is_missing(int pagemap, uint64_t start, uint64_t end);
