/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "tracer/mend.h"
#include "tracer/raise.h"

struct verdict raise_finish(struct session *session, struct thread *thread,
			    struct verdict verdict)
{
	int r = 0;

	if (!thread->raises)
		return verdict;
	thread->raises = false;
	if (verdict.kind == VERDICT_AGAIN)
		return verdict; /* the same; what is open is for the others */
	if (verdict.signal)
		r = mend_deliver(session, thread, verdict.signal);
	if (r == 1)
		return (struct verdict){ VERDICT_AGAIN, 0 };
	if (r == 0)
		r = session_close(session, thread, &session->reclose);
	if (r < 0 && r != -ESRCH)
		session_fail(session, r, __func__);
	return (struct verdict){ VERDICT_RUN, 0 };
}
