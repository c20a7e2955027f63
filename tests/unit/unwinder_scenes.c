/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>
#include <unwind.h>

#include "base/macro.h"
#include "tests/unit/unwinder_scenes.h"

struct shared *shared;

static volatile int sink;

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context,
				      void *unused)
{
	uintptr_t ip = _Unwind_GetIP(context);

	if (!ip) /* behind the outermost frame */
		return _URC_END_OF_STACK;
	/* the first is note_here() itself */
	if (shared->count >= 0 && shared->count < KNOWN_MAX)
		shared->known[shared->count] = (void *)ip;
	shared->count++;
	return _URC_NO_REASON;
}

/* What backtrace(3) does, which the sanitizers put a frame around. */
static __attribute__((noinline)) void note_here(void)
{
	shared->count = -1;
	_Unwind_Backtrace(note_frame, NULL);
	sink++; /* no tail call */
}

/* The stop, with everything outwards of this function known. */
static __attribute__((noinline)) void stop_here(void)
{
	note_here();
	__asm__ volatile("int3");
}

/*
 * leaf_table: unwind information relative to rsp, and rbp means nothing.
 * leaf_pointer: a frame pointer and no unwind information.
 * leaf_nothing: neither.
 */
__asm__(".text\n"
	".globl leaf_table, leaf_pointer, leaf_nothing\n"
	".type leaf_table, @function\n"
	"leaf_table:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbp, 0\n"
	"	sub $264, %rsp\n"
	"	.cfi_adjust_cfa_offset 264\n"
	"	lea 40(%rsp), %rbp\n"
	"	int3\n"
	"	add $264, %rsp\n"
	"	.cfi_adjust_cfa_offset -264\n"
	"	pop %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type leaf_pointer, @function\n"
	"leaf_pointer:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rbx\n"
	"	int3\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".type leaf_nothing, @function\n"
	"leaf_nothing:\n"
	"	push %rbp\n"
	"	mov $0x1234567, %ebp\n"
	"	int3\n"
	"	pop %rbp\n"
	"	ret\n"
	".size leaf_table, leaf_pointer - leaf_table\n"
	".size leaf_pointer, leaf_nothing - leaf_pointer\n"
	".size leaf_nothing, . - leaf_nothing\n");

static __attribute__((noinline)) void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		stop_here();
	sink++;
}

void scene_recursion(int depth)
{
	recurse(depth);
	sink++; /* no tail call */
}

/* What frame_rbx and its callee call. */
void frame_inner(void)
{
	recurse(2);
	sink++;
}

/* A frame that is found by rbx, which its callee has changed. */
__asm__(".text\n"
	".globl frame_rbx\n"
	".type frame_rbx, @function\n"
	"frame_rbx:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbx, 0\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register rbx\n"
	"	sub $96, %rsp\n"
	"	call frame_callee\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa_register rsp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".type frame_callee, @function\n"
	"frame_callee:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbx, 0\n"
	"	lea 32(%rsp), %rbx\n"
	"	call frame_inner\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size frame_rbx, frame_callee - frame_rbx\n"
	".size frame_callee, . - frame_callee\n");

void scene_register(int unused)
{
	frame_rbx();
	sink++;
}

static char handler_stack[1 << 16] __attribute__((aligned(16)));

static void handler(int sig)
{
	recurse(3);
	sink++;
}

/*
 * The handler's stack is a module's .bss; three rounds at three depths, so
 * that bytes kept from the round before would be seen.
 */
void scene_handler(int unused)
{
	stack_t stack = { .ss_sp = handler_stack,
			  .ss_size = sizeof(handler_stack) };
	struct sigaction action = { .sa_handler = handler,
				    .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 3; i++) {
		stack.ss_sp = handler_stack + 256 * i;
		stack.ss_size = sizeof(handler_stack) - 1024 - 512 * i;
		sigaltstack(&stack, NULL);
		raise(SIGUSR1);
	}
}

static int compare(const void *a, const void *b)
{
	stop_here();
	return *(const int *)a - *(const int *)b;
}

void scene_callback(int unused)
{
	int values[] = { 3, 1, 2 };

	qsort(values, ARRAY_SIZE(values), sizeof(int), compare);
}

void scene_leaf_table(int unused)
{
	note_here();
	leaf_table();
	sink++;
}

void scene_leaf_pointer(int unused)
{
	note_here();
	leaf_pointer();
	sink++;
}

void scene_leaf_nothing(int unused)
{
	note_here();
	leaf_nothing();
	sink++;
}

void scene_sleep(int unused)
{
	struct timespec time = { .tv_sec = 60 };

	note_here();
	shared->done = 1;
	nanosleep(&time, NULL);
	sink++;
}

static void *thread(void *argument)
{
	recurse(5);
	sink++;
	return NULL;
}

void scene_thread(int unused)
{
	pthread_t id;

	pthread_create(&id, NULL, thread, NULL);
	pthread_join(id, NULL);
}

static void coroutine(void)
{
	recurse(2);
	sink++;
}

void scene_coroutine(int unused)
{
	static ucontext_t here, there;

	getcontext(&there);
	there.uc_stack.ss_sp = handler_stack;
	there.uc_stack.ss_size = sizeof(handler_stack);
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	swapcontext(&here, &there);
}

static int descending(const void *a, const void *b)
{
	return *(const int *)b - *(const int *)a;
}

/* Much of libc, lazy binding and the vDSO, one instruction at a time. */
void scene_mixture(int unused)
{
	int values[] = { 1, 5, 2, 4, 3 };
	struct timespec time;
	char text[64];

	note_here();
	__asm__ volatile("int3");
	clock_gettime(CLOCK_MONOTONIC, &time);
	qsort(values, ARRAY_SIZE(values), sizeof(int), descending);
	snprintf(text, sizeof(text), "%d %s", values[0], "text");
	shared->done = 1;
	__asm__ volatile("int3");
}
