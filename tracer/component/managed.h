/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * managed - functions that a runtime runs, in the call stack of a thread
 *
 * The unwinder tells frames of native code: of an interpreter its loop, and
 * of code that was made at run time nothing, or where the walk ends.  What
 * stands there, in the words of the program's own language, the runtime tells.
 */

#include <sys/types.h>
#include <sys/user.h>

#include "base/memory.h"

enum {
	MANAGED_FRAMES = 256,
	MANAGED_WORDS = 8,
};

/* As the unwinder tells it: a return address but for the first; 0: unknown. */
struct native_frame {
	uint64_t ip, cfa;
};

struct stack_query {
	pid_t tid;
	const struct user_regs_struct *regs; /* of the thread; fs_base, too */
	const struct native_frame *native;   /* innermost first */
	size_t count;
	size_t first; /* of those that were not asked for yet; see resume */
	bool whole;   /* they reach to the outermost one */
	/* Of a stack as it was, what lies on it; NULL: as it is. */
	const struct memory *past;
};

struct managed_frame {
	size_t before; /* it stands inside of this one, or of none: count */
	uint64_t ip;   /* its own; 0: it has that of the native frame */
	bool inlined;  /* into the next one */
	bool whole;   /* it is the native frame: nothing else of that is told */
	bool guessed; /* it may not have been inlined at this ip */
	const char *runtime; /* a static string */

	/*
	 * Tells function, file and line from all others for as long as the
	 * runtime is open.  The strings are valid until the next epoch.
	 */
	uint64_t id;
	const char *function; /* as people write it; never NULL */
	const char *file;     /* or NULL */
	unsigned line;	      /* 0: not known */
};

/*
 * What a runtime fills in; add to @frame in the order of the stack, innermost
 * first.
 */
struct managed {
	struct managed_frame frame[MANAGED_FRAMES];
	size_t count;
	bool cut; /* there were more than fit */

	/*
	 * Of the native frames the first so many are true; the caller sets it
	 * to the query's count.  Where a walk went astray in code that has no
	 * tables it is less, and @resume, if ip is not 0, tells where native
	 * code calls that code: it is walked on from there, and the runtime is
	 * asked again with what was found from @natives on.
	 */
	size_t natives;
	struct {
		uint64_t ip, sp, bp;
	} resume;
	bool stale; /* code() told the walk of code that is another by now */

	/*
	 * While a thread stands still but for stores that we know, its stack
	 * is not walked again: the same native frames have the same managed
	 * ones until one of these words is stored to.  More than fit:
	 * @fleeting, they are asked for each time.
	 */
	uint64_t word[MANAGED_WORDS]; /* of 8 bytes */
	size_t words;
	bool fleeting;
};

/* NULL if it is full: then @cut is set. */
static inline struct managed_frame *managed_add(struct managed *managed)
{
	if (managed->count == MANAGED_FRAMES) {
		managed->cut = true;
		return NULL;
	}
	return &managed->frame[managed->count++];
}

static inline void managed_depend(struct managed *managed, uint64_t word)
{
	if (managed->words == MANAGED_WORDS)
		managed->fleeting = true;
	else
		managed->word[managed->words++] = word;
}
