/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "tracer/component/hotspot_stack.h"

/*
 * The step from each frame to its caller, for the unwinder, and what stands in
 * the frames that it found so.  Code that the machine threw away may be
 * followed by other code in its place: every block is compared with memory at
 * each stop that it is in a stack of.
 */

enum {
	PROLOGUE = 32, /* bytes */
	MAX_FRAME = 1 << 20,
	/* Of the code that calls Java: what it saved, from its rbp. */
	ENTRY_RBX = -56,
	ENTRY_R15 = -88,
};

/* A frame of @size bytes, of which rbp may be one word. */
static void by_size(struct caller *ret, int32_t size, bool saved)
{
	ret->sp = size;
	ret->ip = size - 8;
	if (!saved)
		return;
	ret->saved = 1 << CALLER_RBP;
	ret->slot[CALLER_RBP] = size - 16;
}

static void by_rbp(struct caller *ret)
{
	ret->by_rbp = true;
	ret->sp = 16;
	ret->ip = 8;
	ret->saved = 1 << CALLER_RBP;
	ret->slot[CALLER_RBP] = 0;
}

static void interpreted(struct caller *ret)
{
	by_rbp(ret);
	ret->is_loaded = true;
	ret->sp = -8;
}

/* Compiled code keeps no register, so the code that calls it does. */
static void entry(struct caller *ret)
{
	by_rbp(ret);
	ret->saved = (1 << CALLER_REGISTERS) - 1;
	ret->slot[CALLER_RBX] = ENTRY_RBX;
	for (int i = CALLER_R12; i <= CALLER_R15; i++)
		ret->slot[i] = ENTRY_R15 + 8 * (CALLER_R15 - i);
}

/* The instructions from a method's entry, up to @length of them. */
static bool by_prologue(const uint8_t *code, size_t length, struct caller *ret)
{
	int32_t size = 8, saved = 0, more;

	for (size_t i = 0; i < length;) {
		const uint8_t *at = code + i;

		if (*at == 0x55) { /* push rbp */
			size += 8;
			saved = size;
			i += 1;
		} else if (!memcmp(at, "\x48\x8b\xec", 3)) { /* mov rbp, rsp */
			i += 3;
		} else if (!memcmp(at, "\x89\x84\x24",
				   3)) { /* probe the stack */
			i += 7;
		} else if (!memcmp(at, "\x48\x81\xec", 3)) { /* sub rsp */
			memcpy(&more, at + 3, sizeof(more));
			if (more < 0 || more > MAX_FRAME)
				return false;
			size += more;
			i += 7;
		} else if (!memcmp(at, "\x48\x83\xec", 3)) {
			size += (int8_t)at[3];
			i += 4;
		} else {
			return false;
		}
		if (i > length || size < 8 || size % 8)
			return false;
	}
	by_size(ret, size, false);
	if (!saved)
		return true;
	ret->saved = 1 << CALLER_RBP;
	ret->slot[CALLER_RBP] = size - saved;
	return true;
}

/* Is the frame gone: by a look at what comes next before the return? */
static bool by_epilogue(const uint8_t code[PROLOGUE], struct caller *ret)
{
	const uint8_t *at = code;
	bool polls = true;

	if (*at == 0x5d) { /* pop rbp */
		by_size(ret, 16, true);
		return true;
	}
	if (!memcmp(at, "\x49\x3b\xa7", 3)) /* cmp rsp, [r15 + d32] */
		at += 7;
	else if (!memcmp(at, "\x49\x3b\x67", 3)) /* d8 */
		at += 4;
	else
		polls = false;
	if (polls && memcmp(at, "\x0f\x87", 2) != 0) /* ja */
		return false;
	at += polls ? 6 : 0;
	if (!memcmp(at, "\x4d\x8b\x97", 3)) /* mov r10, [r15 + d32] */
		at += 7;
	if (!memcmp(at, "\x41\x85\x02", 3)) /* test [r10], eax */
		at += 3;
	if (*at != 0xc3)
		return false;
	by_size(ret, 8, false);
	return true;
}

/* Not at a call: the frame may not be made yet, or not be there any more. */
static bool in_method(struct hotspot *hotspot, const struct java_blob *blob,
		      uint64_t ip, struct caller *ret)
{
	uint8_t code[PROLOGUE] = { 0 };

	if (ip >= blob->stubs || ip < blob->code)
		return false;
	if (ip <= blob->entry) {
		by_size(ret, 8, false);
		return true;
	}
	if (ip < blob->complete)
		return ip - blob->entry <= PROLOGUE - 8 &&
		       pages_read(hotspot->pages, blob->entry, code,
				  ip - blob->entry) == 0 &&
		       by_prologue(code, ip - blob->entry, ret);
	if (pages_read(hotspot->pages, ip, code, sizeof(code)) < 0)
		return false;
	if (!by_epilogue(code, ret))
		by_size(ret, (int32_t)blob->frame, true);
	return true;
}

bool hotspot_caller(void *state, uint64_t ip, bool is_return,
		    struct caller *ret)
{
	struct hotspot *hotspot = state;
	const struct java_site *site;
	const struct java_blob *blob;

	if (hotspot_in_interpreter(hotspot, ip)) {
		interpreted(ret);
		return hotspot_interprets(hotspot, ip, is_return);
	}
	if (is_return && ip == hotspot->entry_return) {
		entry(ret);
		return true;
	}
	site = hotspot_site(hotspot, ip, is_return);
	if (!site)
		return false;
	blob = site->blob;
	if (!is_return && blob->kind == JAVA_VTABLE) {
		by_size(ret, 8, false);
		return true;
	}
	if (!is_return && blob->kind == JAVA_STUB)
		return false;
	if (blob->frame < 16)
		return false;
	if (!is_return)
		return in_method(hotspot, blob, ip, ret);
	if (!site->is_call)
		return false;
	by_size(ret, (int32_t)blob->frame, true);
	return true;
}

/* One question. */
struct walk {
	struct hotspot *hotspot;
	const struct stack_query *query;
	struct managed *managed;
	size_t i; /* the native frame */
};

static bool add(struct walk *walk, const struct managed_frame *frame)
{
	struct managed_frame *ret = managed_add(walk->managed);

	if (!ret)
		return false;
	*ret = *frame;
	ret->before = walk->i;
	ret->runtime = "hotspot";
	/* not those of other runtimes */
	ret->id |= UINT64_C(1) << 63;
	return true;
}

static uint64_t sp_of(const struct walk *walk)
{
	return walk->i ? walk->query->native[walk->i - 1].cfa
		       : walk->query->regs->rsp;
}

static void tell_interpreted(struct walk *walk,
			     const struct java_interpreted *frame)
{
	unsigned line = hotspot_line(walk->hotspot, frame->method, frame->bci);
	const struct managed_frame managed = {
		.id = (uint64_t)frame->method->serial << 32 | line,
		.function = frame->method->name,
		.file = frame->method->file,
		.line = line,
		.whole = true,
	};

	add(walk, &managed);
}

/* False: there is no such frame. */
static bool tell_interpreter(struct walk *walk)
{
	const struct stack_query *query = walk->query;
	const struct native_frame *native = &query->native[walk->i];
	const struct user_regs_struct *regs = query->regs;
	struct java_interpreted frame;
	bool found;

	if (walk->i) {
		found = native->cfa &&
			hotspot_find_interpreted(
				walk->hotspot, query->past, sp_of(walk),
				native->cfa,
				walk->i + 1 < query->count ? native[1].ip : 0,
				&frame);
		if (found)
			tell_interpreted(walk, &frame);
		return found || !native->cfa;
	}
	/* r13 tells the place, and is not among what a frame needs */
	walk->managed->fleeting = true;
	if (hotspot_interprets(walk->hotspot, native->ip, false) &&
	    hotspot_interpreted(walk->hotspot, query->past, regs->rbp,
				regs->r13, &frame))
		tell_interpreted(walk, &frame);
	return true;
}

static void tell_site(struct walk *walk, const struct java_site *site)
{
	for (size_t k = 0; k < site->count; k++) {
		const struct java_scope *scope = &site->scope[k];
		const struct managed_frame managed = {
			.id = (uint64_t)site->serial << 32 | k,
			.function = scope->function,
			.file = scope->file,
			.line = scope->line,
			.guessed = scope->guessed,
			.inlined = k + 1 < site->count,
			.whole = k + 1 == site->count,
		};

		if (!add(walk, &managed))
			return;
	}
}

/* A frame that is void returns elsewhere, and has the true address. */
static const struct java_site *void_site(struct walk *walk,
					 const struct java_site *site)
{
	const struct java_blob *blob = site->blob;
	uint64_t ip = walk->query->native[walk->i].ip, place;

	if ((ip != blob->deopt[0] && ip != blob->deopt[1]) ||
	    !hotspot_stack(walk->hotspot, walk->query->past,
			   sp_of(walk) + blob->deopt_place, &place, 1) ||
	    hotspot_blob_at(walk->hotspot, place) != blob)
		return site;
	return hotspot_site(walk->hotspot, place, true);
}

/* By a signal, whose handler the frame before returns from. */
static bool is_interrupted(const struct walk *walk)
{
	/* mov rax, __NR_rt_sigreturn; syscall */
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00,
					0x00, 0x00, 0x0f, 0x05 };
	uint64_t ip = walk->query->native[walk->i - 1].ip;
	uint8_t bytes[sizeof(code)];

	return pages_read(walk->hotspot->pages, ip, bytes, sizeof(bytes)) ==
		       0 &&
	       !memcmp(bytes, code, sizeof(code));
}

/* False: there is no such frame. */
static bool tell(struct walk *walk)
{
	static const struct managed_frame entry = {
		.id = 1,
		.function = "StubRoutines::call_stub",
		.whole = true,
	};
	struct hotspot *hotspot = walk->hotspot;
	uint64_t ip = walk->query->native[walk->i].ip;
	const struct java_site *site;
	bool called;

	if (hotspot_in_interpreter(hotspot, ip))
		return tell_interpreter(walk);
	if (walk->i && ip == hotspot->entry_return)
		return add(walk, &entry) || true;
	called = walk->i && !is_interrupted(walk);
	site = hotspot_site(hotspot, ip, called);
	if (!site)
		return !called;
	if (called && !site->is_call)
		return false;
	if (called)
		site = void_site(walk, site);
	if (site)
		tell_site(walk, site);
	return true;
}

static bool is_code(const struct hotspot *hotspot, uint64_t ip)
{
	return ip >= hotspot->code_low && ip < hotspot->code_high;
}

int hotspot_frames(void *state, const struct stack_query *query,
		   struct managed *managed)
{
	struct walk walk = { state, query, managed, query->first };
	struct hotspot *hotspot = state;
	size_t known = managed->count;
	bool any = false;

	if (hotspot->sites.count >= JAVA_SITES ||
	    hotspot->methods.count >= JAVA_METHODS)
		hotspot->code_changed = true;
	for (; walk.i < query->count && !hotspot->code_changed; walk.i++) {
		if (!is_code(hotspot, query->native[walk.i].ip))
			continue;
		any = true;
		if (tell(&walk))
			continue;
		/* no frame of Java's, so what led there went astray */
		managed->natives = walk.i;
		break;
	}
	if (hotspot->code_changed) {
		managed->count = known;
		managed->stale = true;
		hotspot->code_changed = false;
		hotspot_forget_code(hotspot);
		if (hotspot->methods.count >= JAVA_METHODS)
			hotspot_forget_methods(hotspot);
		return 0;
	}
	return any ? 0 : -ENOENT;
}
