/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/syscall.h>

#include "tracer/fault.h"
#include "tracer/process/descriptors.h"
#include "tracer/rewrites.h"

static const char *const memory[] = { "/proc/*/mem" };

static void found(struct session *session)
{
	session->rewrites = true;
	fault_forget(session);
}

void rewrites_look(struct session *session)
{
	if (!session->rewrites &&
	    descriptors_any(process_proc(session->process), memory,
			    ARRAY_SIZE(memory)))
		found(session);
}

void rewrites_after(struct session *session, int number, int64_t result)
{
	if (session->rewrites || result < 0 ||
	    (number != SYS_open && number != SYS_openat &&
	     number != SYS_openat2 && number != SYS_creat))
		return;
	if (descriptors_match(process_proc(session->process), (int)result,
			      *memory))
		found(session);
}
