/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one event costs without its trap: component, text, record, log.  The
 * accesses are those of a loop over an array, as run-ahead gives them.
 *
 *	event ROUNDS LOG	prints nanoseconds per event
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer/family.h"

enum { WORDS = 512 };

uint64_t watched_array[WORDS];

static void check(int r, const struct error *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "%s (%s)\n", err->text, strerror(-r));
	exit(1);
}

/* It only has memory. */
static pid_t target(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void prepare(struct session *session, pid_t pid, struct thread **thread)
{
	uint64_t start = (uintptr_t)watched_array;
	struct error err = { 0 };

	check(process_new(pid, &session->process), &err);
	check(process_add(session->process, pid, thread), &err);
	check(session_refresh(session), &err);
	check(ranges_add(&session->watch.bytes, start,
			 start + sizeof(watched_array), 0),
	      &err);
	check(ranges_add(&session->guard.pages, page_down(start),
			 page_up(start + sizeof(watched_array)), 3),
	      &err);
}

static void one(struct session *session, struct thread *thread, uint64_t i)
{
	static const uint8_t bytes[] = { 0x48, 0x01, 0x04, 0xca };
	struct user_regs_struct regs = {
		.rip = (uintptr_t)one,
		.rdx = (uintptr_t)watched_array,
		.rcx = i % WORDS,
		.rsp = (uintptr_t)&regs,
	};
	struct effect effect = {
		.access = { .addr = (uintptr_t)&watched_array[i % WORDS],
			    .size = 8,
			    .op = ACCESS_RW,
			    .count = 1 },
		.shown = 8,
	};
	static struct insn insn;
	struct effect_report report = {
		.effect = &effect,
		.regs = &regs,
		.insn = &insn,
		.bytes = bytes,
		.nbytes = sizeof(bytes),
		.how = "native",
		.ip = regs.rip,
	};

	if (!insn.length && insn_decode(bytes, sizeof(bytes), &insn) < 0)
		exit(1);
	memcpy(effect.old, &i, sizeof(i));
	memcpy(effect.new, &i, sizeof(i));
	session->log->insns++;
	if (!report_access(session, thread, &report))
		exit(1);
}

int main(int argc, char **argv)
{
	const char *const watches[] = { "watched_array" };
	const struct options options = {
		.watches = watches,
		.nwatches = 1,
		.on = ACCESS_RW,
		.output = argc > 2 ? argv[2] : "/dev/null",
	};
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	struct family *family;
	struct session *session;
	struct error err = { 0 };
	struct thread *thread;
	uint64_t start;
	pid_t pid = target();

	check(family_new(&options, false, &family, &err), &err);
	session = family->sessions;
	prepare(session, pid, &thread);
	start = session_now();
	for (uint64_t i = 0; i < rounds; i++) {
		if (i % WORDS == 0)
			resolver_epoch(session->resolver);
		one(session, thread, i);
	}
	printf("%.1f\n", (double)(session_now() - start) / (double)rounds);
	family_free(family);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
