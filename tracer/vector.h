/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * vector - the vector state of a thread, there and back for as little as can be
 */

#include "tracer/session.h"

int vector_load(struct session *session, struct thread *thread,
		struct cpu *cpu) _must_check_;

/*
 * What an instruction changed of @cpu since vector_load(), back to the thread.
 * *@ip, where the thread goes on, may become another place that leads there.
 */
int vector_store(struct session *session, struct thread *thread,
		 const struct cpu *cpu, uint64_t *ip) _must_check_;
