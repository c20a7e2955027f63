/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * family - all processes of one run
 *
 * One struct session for each address space, in a list; what they share.  A
 * stop is handed to the session it belongs to.  Sessions stop only their own
 * threads: no process stands still because of another.
 */

#include "disasm/window.h"
#include "tracer/event/log.h"
#include "tracer/place.h"
#include "tracer/session.h"

enum { PROCESSES_LISTED = 1000 };

struct family {
	const struct options *options;
	struct session *sessions; /* the first process, then the youngest */
	struct session *served;	  /* last; in the list, or NULL */
	struct table orphans;	  /* tid -> struct orphan */
	struct log log;
	struct table logs; /* pid -> how many logs are named after it */
	uint64_t events;   /* access and sample records, of all processes */
	/* Those that ended or were let go, if a log may have several. */
	struct event_process processes[PROCESSES_LISTED];
	size_t nprocesses;
	uint64_t processes_left_off;
	bool *matched; /* each spec: one of them had something */
	const struct event_list *list; /* of --list, once it is made */
	uint64_t armed_ns;	       /* the first time; 0 not yet */
	struct place place;

	/* Used while one stop is handled, so one of each is enough. */
	struct execute *execute;
	struct ahead *ahead;
	const struct session *ahead_of; /* whose code it has seen last */
	struct insn_names *names;
	struct windows *windows;
	uint8_t *xstate; /* with room for another behind it */
};

/* --max-events is exact: what comes until we have left is not wanted. */
static inline bool family_is_full(const struct family *family)
{
	return family->options->max_events &&
	       family->events >= family->options->max_events;
}

/* With its first process; @run: that will be our child. */
int family_new(const struct options *options, bool run, struct family **ret,
	       struct error *err) _must_check_;
void family_free(struct family *family); /* and its sessions */
DEFINE_CLEANUP(family)

/* The process of @session has a number now: open the log if it needs that. */
int family_log(struct session *session, struct error *err) _must_check_;
/* What it counted is told, or will be: free it.  Not for the first. */
void family_remove(struct family *family, struct session *session);

/* Hand a stop to its session; it waits if none knows the thread yet. */
void family_handle(struct family *family, const struct stop *stop);

/* A stop that was kept, of one whose session is known now. */
void family_arrive(struct family *family, const struct stop *stop);
/* Serve whoever was stopped for others. */
void family_serve(struct family *family);

/* The stop of a newborn that came before its parent's. */
bool family_claim(struct family *family, pid_t tid, struct stop *ret);
/*
 * The same of any child that @session, whose threads are gone, has left: it
 * was born of it, or of nobody who lives.
 */
bool family_inherit(struct family *family, const struct session *session,
		    struct stop *ret);

/* One that is kept for @age_ns already: its parent does not tell of it. */
bool family_abandoned(struct family *family, uint64_t age_ns, struct stop *ret);

/* Is @tid a thread, or an expected child, of one of them? */
bool family_knows(const struct family *family, pid_t tid);

/* loop.c: why @session is to be left; NULL: it is not. */
const char *family_why(const struct session *session);
