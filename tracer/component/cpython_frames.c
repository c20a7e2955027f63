/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/cpython.h"

/*
 * Which functions of Python each native frame of the interpreter's loop runs.
 *
 * Until 3.10 a loop runs one function.  From 3.11 on a call of a function of
 * Python stays in the loop: its frames follow each other until the one that
 * was the loop's first.  In 3.11 and 3.12 each loop has a record on its stack
 * (_PyCFrame), from 3.12 on also a frame that stands for the call from C; where
 * these lie tells the native frame.
 */

enum {
	MAX_INTERPRETERS = 16,
	MAX_THREADS = 4096,
	MAX_CHAIN = 4096, /* frames, of which many may not be shown */
	RED_ZONE = 128,
	FRAME_BYTES = 80, /* from 3.11 on */
	OWNED_BY_GENERATOR = 1,
	OWNED_BY_C_STACK = 3,
};

struct walk {
	struct cpython *py;
	const struct stack_query *query;
	struct managed *managed;
};

/*
 * A thread is known by its pthread_self(), which is its fs_base.  Of one that
 * sleeps that is not told: but for the first thread's it lies at the upper end
 * of its stack.
 */
struct wanted {
	uint64_t self;	    /* or 0 */
	uint64_t low, high; /* else, where it lies; the first thread: 0 */
};

static bool is_thread(const struct cpython *py, uint64_t thread,
		      const struct wanted *wanted)
{
	uint64_t id;

	if (!py_word(py, thread + py->layout.thread_id, &id))
		return false;
	return wanted->self ? id == wanted->self
			    : id > wanted->low && id < wanted->high;
}

/* Of one interpreter; new threads come first, so the last is its first. */
static uint64_t search_threads(const struct cpython *py, uint64_t thread,
			       const struct wanted *wanted)
{
	for (unsigned k = 0; k < MAX_THREADS && thread; k++) {
		uint64_t next;

		if (is_thread(py, thread, wanted))
			return thread;
		if (!py_word(py, thread + py->layout.thread_next, &next))
			return 0;
		if (!next && !wanted->self && !wanted->high)
			return thread;
		thread = next;
	}
	return 0;
}

static uint64_t search(const struct cpython *py, const struct wanted *wanted)
{
	uint64_t interpreter, thread, found = 0;

	if (!py_word(py, py->runtime + py->layout.interpreters, &interpreter))
		return 0;
	/* Of interpreters the first comes last, too. */
	for (unsigned i = 0; i < MAX_INTERPRETERS && interpreter; i++) {
		if (!py_word(py, interpreter + py->layout.threads, &thread))
			return 0;
		thread = search_threads(py, thread, wanted);
		if (thread && (wanted->self || wanted->high))
			return thread;
		found = thread;
		if (!py_word(py, interpreter + py->layout.interpreter_next,
			     &interpreter))
			return 0;
	}
	return found;
}

static uint64_t find_sleeping(const struct cpython *py,
			      const struct stack_query *query)
{
	const struct world *world = py->view->world;
	const struct mapping *m = maps_find(world->maps, query->regs->rsp);
	struct wanted wanted = { .low = query->regs->rsp };

	if (query->tid != world->pid && !m)
		return 0;
	if (query->tid != world->pid)
		wanted.high = m->end;
	return search(py, &wanted);
}

uint64_t py_thread(struct cpython *py, uint64_t self)
{
	struct wanted wanted = { .self = self };
	size_t i = (self * UINT64_C(0x9e3779b97f4a7c15) >> 32) %
		   ARRAY_SIZE(py->thread);

	if (py->thread[i].fs_base == self &&
	    is_thread(py, py->thread[i].addr, &wanted))
		return py->thread[i].addr;
	py->thread[i].fs_base = self;
	py->thread[i].addr = search(py, &wanted);
	return py->thread[i].addr;
}

static uint64_t find_thread(struct cpython *py, const struct stack_query *query)
{
	if (!py->runtime)
		return 0;
	if (!query->regs->fs_base)
		return find_sleeping(py, query);
	return py_thread(py, query->regs->fs_base);
}

/* The native frame in which @addr lies, or -1: none that is known. */
static ssize_t native_of(const struct walk *walk, uint64_t addr)
{
	const struct stack_query *query = walk->query;
	uint64_t low = query->regs->rsp - RED_ZONE;

	for (size_t i = 0; i < query->count; i++) {
		uint64_t cfa = query->native[i].cfa;

		if (!cfa)
			break;
		if (addr >= low && addr < cfa)
			return (ssize_t)i;
		low = cfa;
	}
	return -1;
}

static bool add(struct walk *walk, const struct py_code *code, int64_t offset,
		size_t before)
{
	struct managed_frame *frame = managed_add(walk->managed);
	unsigned line;

	if (!frame)
		return false;
	line = py_line(walk->py, code, offset);
	*frame = (struct managed_frame){
		.before = before,
		.runtime = "cpython",
		.id = (uint64_t)code->serial << 32 | line,
		.function = code->function,
		.file = code->file,
		.line = line,
	};
	return true;
}

/* A frame of 3.11 and later. */
struct frame_words {
	uint64_t addr, code, back, instruction;
	uint8_t owner, entry;
};

static bool read_frame(const struct cpython *py, uint64_t addr,
		       struct frame_words *ret)
{
	const struct py_layout *layout = &py->layout;
	uint8_t bytes[FRAME_BYTES];

	if (addr % 8 || layout->code > FRAME_BYTES - 8 ||
	    layout->back > FRAME_BYTES - 8 || layout->owner >= FRAME_BYTES ||
	    layout->instruction > FRAME_BYTES - 8 ||
	    !py_read(py, addr, bytes, FRAME_BYTES - 8))
		return false;
	ret->addr = addr;
	memcpy(&ret->code, bytes + layout->code, 8);
	memcpy(&ret->back, bytes + layout->back, 8);
	memcpy(&ret->instruction, bytes + layout->instruction, 8);
	ret->owner = bytes[layout->owner];
	ret->entry = bytes[layout->owner - 1];
	return true;
}

/*
 * Of a frame that was not begun yet nothing is told, as by the traceback
 * module: until its first RESUME.
 */
static bool has_begun(const struct walk *walk, const struct py_code *code,
		      const struct frame_words *frame)
{
	const struct cpython *py = walk->py;
	uint32_t first;

	if (frame->owner == OWNED_BY_GENERATOR)
		return true;
	/* _co_firsttraceable lies before co_extra, and that before the code */
	if (!py_read(py, code->start - 16, &first, 4))
		return false;
	return (int64_t)(frame->instruction - code->start) >=
	       (int64_t)first * 2;
}

static bool tell_frame(struct walk *walk, const struct frame_words *frame,
		       size_t before)
{
	const struct py_code *code = py_code_at(walk->py, frame->code);

	if (!code)
		return false;
	if (!has_begun(walk, code, frame))
		return true;
	return add(walk, code, (int64_t)(frame->instruction - code->start),
		   before);
}

/* What a chain of frames that one loop runs has of a first one. */
static bool is_first(const struct cpython *py, const struct frame_words *frame)
{
	return py->layout.minor == 11 ? frame->entry
				      : frame->owner == OWNED_BY_C_STACK;
}

/*
 * Frames are told when it is known which loop runs them: after the last of
 * them.  @cframe: of 3.11 the record of that loop.
 */
static void chain(struct walk *walk, uint64_t addr, uint64_t cframe)
{
	struct cpython *py = walk->py;
	struct frame_words pending[MANAGED_FRAMES], frame;
	size_t n = 0;

	for (unsigned i = 0; i < MAX_CHAIN && addr; i++) {
		ssize_t native;

		if (!read_frame(py, addr, &frame))
			return;
		addr = frame.back;
		if (frame.owner != OWNED_BY_C_STACK || py->layout.minor == 11) {
			if (n < MANAGED_FRAMES)
				pending[n++] = frame;
			else
				walk->managed->cut = true;
		}
		if (!is_first(py, &frame))
			continue;
		native = native_of(walk, cframe ? cframe : frame.addr);
		for (size_t k = 0; native >= 0 && k < n; k++)
			if (!tell_frame(walk, &pending[k], (size_t)native))
				return;
		n = 0;
		if (cframe &&
		    !py_word(py, cframe + py->layout.cframe_previous, &cframe))
			return;
	}
}

/* The innermost function's place is stored at each step of the loop. */
static void depend_on(struct walk *walk, uint64_t frame)
{
	managed_depend(walk->managed, frame + walk->py->layout.instruction);
}

static int frames_11(struct walk *walk, uint64_t thread)
{
	const struct py_layout *layout = &walk->py->layout;
	uint64_t word = thread + layout->thread_frame, cframe = 0, frame;

	if (layout->minor < 13) {
		managed_depend(walk->managed, word);
		if (!py_word(walk->py, word, &cframe) || !cframe)
			return -ENOENT;
		word = cframe + layout->cframe_frame;
	}
	managed_depend(walk->managed, word);
	if (!py_word(walk->py, word, &frame) || !frame)
		return -ENOENT;
	depend_on(walk, frame);
	chain(walk, frame, layout->minor == 11 ? cframe : 0);
	return 0;
}

static bool is_loop(const struct cpython *py, uint64_t ip)
{
	struct symbol symbol;

	if (ip >= py->eval.start && ip < py->eval.end)
		return true;
	/* the rare parts of it, which compilers put elsewhere */
	return symbols_at(py->view->world->symbols, ip, &symbol) == 0 &&
	       symbol.module == py->module &&
	       !strncmp(symbol.name, "_PyEval_EvalFrameDefault",
			strlen("_PyEval_EvalFrameDefault"));
}

static bool is_in_module(const struct cpython *py, uint64_t ip)
{
	return ip >= py->module->text_start && ip < py->module->text_end;
}

/* The loops of the stack, innermost first. */
static size_t find_loops(const struct walk *walk, size_t loop[MANAGED_FRAMES])
{
	const struct stack_query *query = walk->query;
	size_t n = 0;

	for (size_t i = 0; i < query->count && n < MANAGED_FRAMES; i++) {
		uint64_t ip = query->native[i].ip - (i > 0);

		if (is_in_module(walk->py, ip) && is_loop(walk->py, ip))
			loop[n++] = i;
	}
	return n;
}

/* Frames of 3.9 and 3.10, objects: their addresses, innermost first. */
static size_t find_frames(const struct walk *walk, uint64_t frame,
			  uint64_t found[MAX_CHAIN])
{
	const struct cpython *py = walk->py;
	size_t n = 0;

	for (; frame && n < MAX_CHAIN; n++) {
		found[n] = frame;
		if (frame % 8 || !py_word(py, frame + py->layout.back, &frame))
			break;
	}
	return n;
}

static bool tell_old(struct walk *walk, uint64_t frame, size_t before)
{
	struct cpython *py = walk->py;
	const struct py_code *code;
	uint64_t addr;
	int32_t at;

	if (!py_word(py, frame + py->layout.code, &addr) ||
	    !py_read(py, frame + py->layout.instruction, &at, 4))
		return false;
	code = py_code_at(py, addr);
	return code &&
	       add(walk, code, py->layout.minor == 10 ? (int64_t)at * 2 : at,
		   before);
}

/*
 * One loop, one frame.  Where there are more loops than frames, the innermost
 * has not begun its yet; where the stack was cut, frames are left over.
 */
static int frames_9(struct walk *walk, uint64_t thread)
{
	uint64_t word = thread + walk->py->layout.thread_frame, frame;
	size_t loop[MANAGED_FRAMES], loops = find_loops(walk, loop), skip = 0;
	uint64_t found[MAX_CHAIN];
	size_t frames;

	managed_depend(walk->managed, word);
	if (!loops || !py_word(walk->py, word, &frame) || !frame)
		return -ENOENT;
	depend_on(walk, frame);
	frames = find_frames(walk, frame, found);
	if (walk->query->whole && loops > frames)
		skip = loops - frames;
	for (size_t i = 0; i + skip < loops && i < frames; i++)
		if (!tell_old(walk, found[i], loop[i + skip]))
			break;
	return 0;
}

int py_frames(void *state, const struct stack_query *query,
	      struct managed *managed)
{
	struct walk walk = { .py = state, .query = query, .managed = managed };
	uint64_t thread;

	/* Its frames are found at once, and do not lie on the stack. */
	if (query->first || query->past)
		return -ENOENT;
	thread = find_thread(walk.py, query);
	if (!thread)
		return -ENOENT;
	return walk.py->layout.minor < 11 ? frames_9(&walk, thread)
					  : frames_11(&walk, thread);
}
