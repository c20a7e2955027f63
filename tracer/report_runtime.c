/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "tracer/event/record.h"
#include "tracer/family.h"

static const char *const word[TELLS] = { "classes", "members", "objects",
					 "frames" };

/* The words of the bits of @tells, NULL after the last. */
static void words(unsigned tells, const char *ret[TELLS + 1])
{
	size_t count = 0;

	for (unsigned i = 0; i < TELLS; i++)
		if (tells & 1u << i)
			ret[count++] = word[i];
	ret[count] = NULL;
}

static void report_runtime(struct session *session,
			   const struct runtime_info *info)
{
	unsigned tells = info->reason[0] ? 0 : info->tells;
	const char *can[TELLS + 1], *cannot[TELLS + 1];
	struct timespec time = report_time();
	struct event_runtime runtime = {
		.pid = session->process->pid,
		.name = info->name,
		.version = info->version,
		.how = info->module ? "module" : "object",
		.module = info->module ? info->module->path : NULL,
		.tells = can,
		.lacks = cannot,
		.reason = info->reason,
	};

	words(tells, can);
	words(~tells, cannot);
	record_runtime(&session->log->buffer, &runtime, &time);
	log_line(session->log);
}

void report_runtimes(struct session *session)
{
	struct runtime_info info;

	while (session->resolver && resolver_found(session->resolver, &info))
		report_runtime(session, &info);
}

void report_chosen(const struct options *options,
		   const char *ret[RUNTIMES_CHOSEN])
{
	const char *name;
	size_t count = 0;

	for (size_t i = 0; (name = runtime_name(i)); i++)
		if (options->runtimes & runtime_bit(name) &&
		    count < RUNTIMES_CHOSEN - 1)
			ret[count++] = name;
	ret[count] = NULL;
}
