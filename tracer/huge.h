/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * huge - memory of hugetlbfs is refused by name
 *
 * Its rights are given for 2 MiB or more at once, so a page of it cannot be
 * opened for a call or a step.  Transparent huge pages are not concerned: the
 * kernel splits them.
 */

#include "tracer/watch.h"

/* By the map that @process has read last. */
int huge_refuse(struct watch *watch, struct process *process) _must_check_;

/* How much of what is wanted was refused so. */
uint64_t huge_refused(const struct watch *watch);
