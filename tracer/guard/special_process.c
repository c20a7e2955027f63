/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/sched.h>

#include "tracer/guard/special.h"
#include "tracer/guard/syscalls_table.h"

static void prctl_seccomp(struct planner *planner)
{
	struct buffer_use use = plan_argument(planner, 2, 16, BUFFER_IN);

	/* SECCOMP_MODE_FILTER */
	if (planner->call->args[1] == 2)
		plan_filter(planner, &use);
}

static void prctl_set_mm(struct planner *planner)
{
	enum {
		AUXV = 12,
		MAP = 14,
		MAP_SIZE = 15,
	};
	uint64_t what = planner->call->args[1];

	if (what == AUXV)
		plan_add_argument(planner, 2, planner->call->args[3],
				  BUFFER_IN);
	else if (what == MAP_SIZE)
		plan_add_argument(planner, 2, SIZE_INT, BUFFER_OUT);
	else if (what == MAP)
		planner->plan->kind = CALL_UNKNOWN;
}

/* At every later system call the kernel reads the selector byte. */
static void prctl_dispatch(struct planner *planner)
{
	if (plan_add_argument(planner, 4, 1, BUFFER_IN) < 0)
		return;
	planner->plan->kind = CALL_IN_PLACE;
	planner->plan->flags |= CALL_LATER;
}

void special_prctl(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 2, { OUT(1, SIZE_INT) } },	    /* PR_GET_PDEATHSIG */
		{ 5, { OUT(1, SIZE_INT) } },	    /* PR_GET_UNALIGN */
		{ 9, { OUT(1, SIZE_INT) } },	    /* PR_GET_FPEMU */
		{ 11, { OUT(1, SIZE_INT) } },	    /* PR_GET_FPEXC */
		{ 16, { OUT(1, 16) } },		    /* PR_GET_NAME */
		{ 19, { OUT(1, SIZE_INT) } },	    /* PR_GET_ENDIAN */
		{ 25, { OUT(1, SIZE_INT) } },	    /* PR_GET_TSC */
		{ 37, { OUT(1, SIZE_INT) } },	    /* PR_GET_CHILD_SUBREAPER */
		{ 40, { OUT(1, SIZE_LONG) } },	    /* PR_GET_TID_ADDRESS */
		{ 62, { MAYBE(4, SIZE_LONG) } },    /* PR_SCHED_CORE */
		{ 0x41555856, { OUT_N(1, 2, 1) } }, /* PR_GET_AUXV */
		{ 0x53564d41, { STR(4) } },	    /* PR_SET_VMA: a name */
	};
	uint64_t option = planner->call->args[0];
	unsigned i;

	switch (option) {
	case 15: /* PR_SET_NAME: no more than a task's name can have */
		plan_string(planner, plan_argument(planner, 1, 0, BUFFER_IN),
			    15);
		return;
	case 22: /* PR_SET_SECCOMP */
		prctl_seccomp(planner);
		return;
	case 35: /* PR_SET_MM */
		prctl_set_mm(planner);
		return;
	case 59: /* PR_SET_SYSCALL_USER_DISPATCH */
		prctl_dispatch(planner);
		return;
	default:
		if (rule_command(planner, rows, ARRAY_SIZE(rows), option))
			return;
		for (i = 1; i < 5; i++)
			plan_suspect(planner, planner->call->args[i]);
	}
}

void special_arch_prctl(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 0x1003, { OUT(1, SIZE_LONG) } }, /* ARCH_GET_FS */
		{ 0x1004, { OUT(1, SIZE_LONG) } }, /* ARCH_GET_GS */
		{ 0x1021, { OUT(1, SIZE_LONG) } }, /* ARCH_GET_XCOMP_SUPP */
		{ 0x1022, { OUT(1, SIZE_LONG) } }, /* ARCH_GET_XCOMP_PERM */
		{ 0x1024, { OUT(1, SIZE_LONG) } }, /* ..._GUEST_PERM */
		{ 0x4001, { OUT(1, SIZE_LONG) } }, /* ARCH_GET_UNTAG_MASK */
		{ 0x4003, { OUT(1, SIZE_LONG) } }, /* ..._MAX_TAG_BITS */
		{ 0x5005, { OUT(1, SIZE_LONG) } }, /* ARCH_SHSTK_STATUS */
	};

	/* All others take numbers, or addresses that are only noted. */
	rule_command(planner, rows, ARRAY_SIZE(rows), planner->call->args[0]);
}

/* PTRACE_GETREGSET and SETREGSET: one iovec, whose length comes back. */
static void ptrace_regset(struct planner *planner, uint8_t direction)
{
	struct buffer_use array =
		plan_argument(planner, 3, 0, BUFFER_IN | BUFFER_OUT);
	struct buffer_use like = plan_argument(planner, 3, 0, direction);

	plan_vector(planner, &array, 1, &like);
}

void special_ptrace(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 1, { OUT(3, SIZE_LONG) } },	   /* PTRACE_PEEKTEXT */
		{ 2, { OUT(3, SIZE_LONG) } },	   /* PTRACE_PEEKDATA */
		{ 3, { OUT(3, SIZE_LONG) } },	   /* PTRACE_PEEKUSER */
		{ 4, { { 0 } } },		   /* PTRACE_POKETEXT */
		{ 5, { { 0 } } },		   /* PTRACE_POKEDATA */
		{ 6, { { 0 } } },		   /* PTRACE_POKEUSER */
		{ 12, { OUT(3, 216) } },	   /* PTRACE_GETREGS */
		{ 13, { IN(3, 216) } },		   /* PTRACE_SETREGS */
		{ 14, { MAYBE(3, 512) } },	   /* PTRACE_GETFPREGS */
		{ 15, { IN(3, 512) } },		   /* PTRACE_SETFPREGS */
		{ 25, { OUT(3, 16) } },		   /* PTRACE_GET_THREAD_AREA */
		{ 26, { IN(3, 16) } },		   /* PTRACE_SET_THREAD_AREA */
		{ 0x4201, { OUT(3, SIZE_LONG) } }, /* GETEVENTMSG */
		{ 0x4202, { OUT(3, SIZE_SIGINFO) } }, /* GETSIGINFO */
		{ 0x4203, { IN(3, SIZE_SIGINFO) } },  /* SETSIGINFO */
		{ 0x420a, { OUT(3, SIZE_SIGSET) } },  /* GETSIGMASK */
		{ 0x420b, { IN(3, SIZE_SIGSET) } },   /* SETSIGMASK */
		{ 0x420e, { FILL(3, 2, 1) } },	      /* GET_SYSCALL_INFO */
		{ 0x420f, { OUT_N(3, 2, 1) } }, /* GET_RSEQ_CONFIGURATION */
	};
	uint64_t request = planner->call->args[0];

	switch (request) {
	case 0x4204:
		ptrace_regset(planner, BUFFER_OUT);
		return;
	case 0x4205:
		ptrace_regset(planner, BUFFER_IN);
		return;
	default:
		if (!rule_command(planner, rows, ARRAY_SIZE(rows), request))
			plan_suspect(planner, planner->call->args[3]);
	}
}

static void set_blocking(struct planner *planner, uint64_t flags)
{
	if (!(flags & CLONE_VFORK))
		planner->plan->flags &= ~(unsigned)CALL_BLOCKS;
}

void special_clone(struct planner *planner)
{
	uint64_t flags = planner->call->args[0];

	set_blocking(planner, flags);
	if (flags & (CLONE_PARENT_SETTID | CLONE_PIDFD))
		plan_add_argument(planner, 2, SIZE_INT, BUFFER_OUT);
	if (flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID))
		plan_add_argument(planner, 3, SIZE_INT, BUFFER_OUT);
}

void special_clone3(struct planner *planner)
{
	static const struct {
		uint64_t flags;
		uint32_t offset;
	} words[] = {
		{ CLONE_PIDFD, offsetof(struct clone_args, pidfd) },
		{ CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID,
		  offsetof(struct clone_args, child_tid) },
		{ CLONE_PARENT_SETTID,
		  offsetof(struct clone_args, parent_tid) },
	};
	uint64_t addr = planner->call->args[0];
	uint64_t size = min_u64(planner->call->args[1], PAGE);
	int parent = plan_add_argument(planner, 0, size, BUFFER_IN);
	struct clone_args args = { 0 };
	struct buffer_use use;
	size_t i;

	if (parent < 0 ||
	    !plan_read(planner, addr, &args, min_u64(size, sizeof(args))))
		return;

	set_blocking(planner, args.flags);
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		uint64_t word;

		if (!(args.flags & words[i].flags) ||
		    !plan_read(planner, addr + words[i].offset, &word, 8))
			continue;
		use = plan_nested(parent, words[i].offset, word, SIZE_INT,
				  BUFFER_OUT);
		plan_add(planner, &use);
	}

	use = plan_nested(
		parent, offsetof(struct clone_args, set_tid), args.set_tid,
		SIZE_INT * min_u64(args.set_tid_size, PAGE), BUFFER_IN);
	plan_add(planner, &use);
}

void special_execve(struct planner *planner)
{
	plan_strings(planner, 1);
	plan_strings(planner, 2);
}

void special_execveat(struct planner *planner)
{
	plan_strings(planner, 2);
	plan_strings(planner, 3);
}

void special_seccomp(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 2, { IN(2, SIZE_INT) } }, /* SECCOMP_GET_ACTION_AVAIL */
		{ 3, { OUT(2, 6) } },	    /* SECCOMP_GET_NOTIF_SIZES */
	};
	struct buffer_use use = plan_argument(planner, 2, 16, BUFFER_IN);

	/* SECCOMP_SET_MODE_FILTER */
	if (planner->call->args[0] == 1)
		plan_filter(planner, &use);
	else
		rule_command(planner, rows, ARRAY_SIZE(rows),
			     planner->call->args[0]);
}

void special_kcmp(struct planner *planner)
{
	/* KCMP_EPOLL_TFD: a descriptor in an epoll set, described by three */
	if (planner->call->args[2] == 7)
		plan_add_argument(planner, 4, 3 * SIZE_INT, BUFFER_IN);
}

void special_ldt(struct planner *planner)
{
	static const struct rule_command rows[] = {
		{ 0, { FILL(1, 2, 1) } },    /* read */
		{ 1, { IN_N(1, 2, 1) } },    /* write, old mode */
		{ 2, { FILL(1, 2, 1) } },    /* read the default */
		{ 0x11, { IN_N(1, 2, 1) } }, /* write */
	};

	rule_command(planner, rows, ARRAY_SIZE(rows), planner->call->args[0]);
}
