/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

#include "tracer/blind.h"
#include "tracer/event/record.h"
#include "tracer/family.h"
#include "tracer/tally.h"

enum { CLASSES_LISTED = 1000 };

struct timespec report_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return time;
}

static void executable_of(pid_t pid, char path[PATH_MAX])
{
	char link[48];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	length = readlink(link, path, PATH_MAX - 1);
	path[length > 0 ? length : 0] = '\0';
}

static const char *on_name(uint8_t on)
{
	return on == ACCESS_READ    ? "read"
	       : on == ACCESS_WRITE ? "write"
				    : "all";
}

static const char *policy_name(enum policy policy)
{
	switch (policy) {
	case POLICY_FIRST:
		return "first";
	case POLICY_SAMPLE:
		return "sample";
	case POLICY_DEFAULT:
	case POLICY_EVERY:
	default:
		return "every";
	}
}

static const char *follow_name(enum follow follow)
{
	switch (follow) {
	case FOLLOW_ONE_LOG:
		return "one-log";
	case FOLLOW_LOG_EACH:
		return "log-each";
	case FOLLOW_NONE:
	default:
		return NULL;
	}
}

void report_header(struct session *session)
{
	const struct options *options = session->options;
	char executable[PATH_MAX], host[HOST_NAME_MAX + 1] = "";
	const char **watches = calloc(options->nwatches + 1, sizeof(*watches));
	const char *runtimes[RUNTIMES_CHOSEN];
	struct event_header header = {
		.version = CLS_VERSION,
		.command = options->command_line,
		.pid = session->process->pid,
		.executable = executable,
		.host = host,
		.start = report_time(),
		.watches = watches,
		.on = on_name(options->on),
		.policy = policy_name(session->policy),
		.hz = session->policy == POLICY_SAMPLE ? session->hz : 0,
		.stacks = options->stacks,
		.stack_hz = options->stack_hz,
		.exit_kill = options->exit_kill,
		.survives = session->survives ||
			    (!session->run && !options->exit_kill &&
			     !options->survive),
		.syscalls =
			options->no_syscalls ? "none" : seccomp_way(session),
		.follow = follow_name(options->follow),
		.runtimes = runtimes,
		.list = options->list,
		.births = options->births_exact ? "exact" : NULL,
	};

	report_chosen(options, runtimes);
	if (!watches)
		return;
	for (size_t i = 0; i < options->nwatches; i++)
		watches[i] = options->watches[i];
	executable_of(process_proc(session->process), executable);
	gethostname(host, sizeof(host) - 1);
	record_header(&session->log->buffer, &header);
	log_line(session->log);
	session->log->began = true;
	free(watches);
}

/* The watched bytes of [start, end), as one entry each. */
static size_t describe_bytes(const struct session *session,
			     const struct range *pages, const char *refused,
			     struct event_range *ret, size_t max)
{
	const struct watch *watch = &session->watch;
	const struct mapping *m =
		maps_find(session->process->maps, pages->start);
	uint64_t at = pages->start;
	size_t count = 0;

	while (count < max) {
		const struct range *bytes =
			ranges_overlap(&watch->bytes, at, pages->end);

		if (!bytes)
			return count;
		ret[count++] = (struct event_range){
			.watch = bytes->tag < watch->nspecs
					 ? watch->spec[bytes->tag].text
					 : NULL,
			.start = max_u64(bytes->start, pages->start),
			.end = min_u64(bytes->end, pages->end),
			.component = m && m->path[0] ? m->path : NULL,
			.refused = refused,
		};
		at = bytes->end;
		if (at >= pages->end)
			return count;
	}
	return count;
}

static const char *self_test_result(int result)
{
	return result == 1   ? "seen"
	       : result == 0 ? "not made"
			     : "failed: the load was not seen as it was";
}

/* Watched ranges that lie apart split pages; so at most that many entries. */
static size_t describe_all(const struct session *session,
			   struct event_range *ranges, size_t max)
{
	const struct watch *watch = &session->watch;
	size_t count = 0;

	for (size_t i = 0; i < watch->pages.count; i++)
		count += describe_bytes(session, &watch->pages.range[i], NULL,
					ranges + count, max - count);
	for (size_t i = 0; i < watch->refused.count; i++) {
		const struct range *r = &watch->refused.range[i];

		count += describe_bytes(session, r, refusal_name(r->tag),
					ranges + count, max - count);
	}
	return count;
}

void report_armed(struct session *session)
{
	const struct watch *watch = &session->watch;
	size_t max =
		watch->bytes.count + watch->pages.count + watch->refused.count;
	struct event_range *ranges = calloc(max + 1, sizeof(*ranges));
	const char **pending = calloc(watch->nspecs + 1, sizeof(*pending));
	const char *blind[BLIND_MOST];
	struct timespec time = report_time();
	struct event_armed armed = {
		.pid = session->process->pid,
		.ranges = ranges,
		.pending = pending,
		.self_test = self_test_result(session->self_test),
	};

	if (ranges && pending) {
		armed.nranges = describe_all(session, ranges, max);
		for (size_t i = 0; i < watch->pages.count; i++)
			armed.pages += (watch->pages.range[i].end -
					watch->pages.range[i].start) /
				       PAGE;
		for (size_t i = 0; i < watch->nspecs; i++)
			if (!watch->found[i])
				pending[armed.npending++] = watch->spec[i].text;
		armed.blind = blind;
		armed.nblind = armed.pages ? blind_list(session, blind) : 0;
		armed.state = armed.pages ? "armed" : "pending";
		record_armed(&session->log->buffer, &armed, &time);
		log_line(session->log);
	}
	report_runtimes(session);
	free(ranges);
	free(pending);
}

void report_closed(struct session *session, uint64_t start, uint64_t end,
		   const char *reason)
{
	struct timespec time = report_time();

	record_closed(&session->log->buffer, session->process->pid, start, end,
		      reason, &time);
	log_line(session->log);
}

void report_exec(struct session *session)
{
	struct timespec time = report_time();
	char executable[PATH_MAX];

	executable_of(process_proc(session->process), executable);
	record_exec(&session->log->buffer, session->process->pid, executable,
		    &time);
	log_line(session->log);
}

void report_fork(struct session *session, pid_t child, bool vfork)
{
	struct timespec time = report_time();

	record_fork(&session->log->buffer, session->process->pid, child,
		    vfork ? "vfork" : "fork", &time);
	log_line(session->log);
}

void report_signal(struct session *session, const struct thread *thread,
		   const siginfo_t *info, uint64_t ip)
{
	struct timespec time = report_time();

	record_signal(&session->log->buffer, thread->tgid, thread->tid,
		      info->si_signo, (uint64_t)(uintptr_t)info->si_addr, ip,
		      &time);
	log_line(session->log);
}

void report_warning(struct session *session, const char *format, ...)
{
	struct timespec time = report_time();
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	record_warning(&session->log->buffer, text, &time);
	log_line(session->log);
}

static bool never_came(const struct session *session, size_t spec)
{
	const struct family *family = session->family;

	return (session->armed_once || family->nprocesses) &&
	       !session->watch.found[spec] && !session->watch.met[spec] &&
	       !family->matched[spec];
}

static void warn_pending(struct session *session)
{
	const struct watch *watch = &session->watch;

	for (size_t i = 0; i < watch->nspecs; i++)
		if (never_came(session, i))
			report_warning(session,
				       "nothing that matches '%s' ever came",
				       watch->spec[i].text);
}

const char *report_unmatched(const struct session *session)
{
	const struct options *options = session->options;

	/* Of a log for each process, each tells of its own. */
	if (options->follow == FOLLOW_LOG_EACH)
		return NULL;
	for (size_t i = 0; i < session->watch.nspecs; i++)
		if (never_came(session, i))
			return options->watches[i];
	return NULL;
}

static int exit_number(const struct session *session)
{
	if (!session->ended)
		return -1;
	return WIFSIGNALED(session->status) ? WTERMSIG(session->status)
					    : WEXITSTATUS(session->status);
}

void report_process(struct session *session)
{
	struct family *family = session->family;

	for (size_t i = 0; i < session->watch.nspecs; i++)
		family->matched[i] |=
			session->watch.found[i] > 0 || session->watch.met[i];
	if (family->nprocesses == PROCESSES_LISTED) {
		family->processes_left_off++;
		return;
	}
	family->processes[family->nprocesses++] = (struct event_process){
		.pid = session->process->pid,
		.events = session->counts.events,
		.end = session->end,
		.status = exit_number(session),
	};
}

void report_summary(struct session *session)
{
	const struct counts *c = &session->counts;
	struct event_class_count *classes =
		calloc(CLASSES_LISTED, sizeof(*classes));
	struct event_count *unseen = NULL;
	struct event_stacks stacks;
	struct event_summary summary = {
		.time = report_time(),
		.events = session->log->seq,
		.performed = c->performed,
		.run_ahead = c->run_ahead,
		.stepped = c->stepped,
		.unknown = c->unknown,
		.neighbours = c->neighbours,
		.kernel = c->kernel,
		.lost = c->lost,
		.faults = c->faults,
		.own_signals = c->own_signals,
		.born_unseen = session->watch.born,
		.unexplained = c->unexplained,
		.slices = c->slices,
		.stack_hz = session->options->stack_hz,
		.samples = c->samples,
		.unsampled = c->unsampled,
		.filters = session->process->filters,
		.list = session->family->list,
		.wall = (double)(session_now() - session->began_ns) / 1e9,
		.stopped = (double)session->stopped_ns / 1e9,
		.end = session->end,
		.status = exit_number(session),
	};

	if (!session->log->began && !session->failure)
		report_header(session);
	if (session->log->began && classes) {
		warn_pending(session);
		if (session->guard.refused)
			report_warning(session,
				       "%ju ranges could not be closed again "
				       "and went unwatched from then on",
				       (uintmax_t)session->guard.refused);
		summary.classes = classes;
		summary.nclasses =
			tally_classes(session, classes, CLASSES_LISTED,
				      &summary.classes_left_off);
		summary.nunseen = tally_unseen(session, &unseen);
		summary.unseen = unseen;
		if (stack_summary(session, &stacks))
			summary.stacks = &stacks;
		summary.processes = session->family->processes;
		summary.nprocesses = session->family->nprocesses;
		summary.processes_left_off =
			session->family->processes_left_off;
		record_summary(&session->log->buffer, &summary);
		log_flush(session->log);
	}
	free(unseen);
	free(classes);
}
