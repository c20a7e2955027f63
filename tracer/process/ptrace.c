/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "tracer/process/ptrace.h"

/* glibc 2.36 has no names for these. */
enum {
	GET_SIGMASK = 0x420a,
	SET_SIGMASK = 0x420b,
	GET_SYSCALL_INFO = 0x420e,
	GET_RSEQ = 0x420f,
};

static int call(int request, pid_t tid, uintptr_t addr, uintptr_t data)
{
	long r = ptrace(request, tid, (void *)addr, (void *)data);

	return r < 0 ? -errno : (int)r;
}

int trace_seize(pid_t tid, unsigned long options)
{
	return call(PTRACE_SEIZE, tid, 0, options);
}

int trace_interrupt(pid_t tid)
{
	return call(PTRACE_INTERRUPT, tid, 0, 0);
}

int trace_resume(pid_t tid, enum trace_resume how, int signal)
{
	static const int request[] = {
		[TRACE_CONT] = PTRACE_CONT,
		[TRACE_SYSCALL] = PTRACE_SYSCALL,
		[TRACE_STEP] = PTRACE_SINGLESTEP,
		[TRACE_LISTEN] = PTRACE_LISTEN,
	};

	return call(request[how], tid, 0, (uintptr_t)signal);
}

int trace_detach(pid_t tid, int signal)
{
	return call(PTRACE_DETACH, tid, 0, (uintptr_t)signal);
}

int trace_options(pid_t tid, unsigned long options)
{
	return call(PTRACE_SETOPTIONS, tid, 0, options);
}

int trace_get_regs(pid_t tid, struct user_regs_struct *regs)
{
	return call(PTRACE_GETREGS, tid, 0, (uintptr_t)regs);
}

int trace_set_regs(pid_t tid, const struct user_regs_struct *regs)
{
	return call(PTRACE_SETREGS, tid, 0, (uintptr_t)regs);
}

int trace_set_ip(pid_t tid, uint64_t ip)
{
	return call(PTRACE_POKEUSER, tid, offsetof(struct user, regs.rip), ip);
}

int trace_get_ip(pid_t tid, uint64_t *ip)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, regs.rip), 0);
	*ip = (uint64_t)word;
	return -errno;
}

int trace_get_xstate(pid_t tid, void *xstate, size_t *size)
{
	struct iovec io = { .iov_base = xstate, .iov_len = *size };
	int r = call(PTRACE_GETREGSET, tid, NT_X86_XSTATE, (uintptr_t)&io);

	*size = io.iov_len;
	return r;
}

int trace_set_xstate(pid_t tid, const void *xstate, size_t size)
{
	struct iovec io = { .iov_base = (void *)xstate, .iov_len = size };

	return call(PTRACE_SETREGSET, tid, NT_X86_XSTATE, (uintptr_t)&io);
}

int trace_set_fpregs(pid_t tid, const void *xstate)
{
	return call(PTRACE_SETFPREGS, tid, 0, (uintptr_t)xstate);
}

int trace_get_siginfo(pid_t tid, siginfo_t *info)
{
	return call(PTRACE_GETSIGINFO, tid, 0, (uintptr_t)info);
}

int trace_set_siginfo(pid_t tid, const siginfo_t *info)
{
	return call(PTRACE_SETSIGINFO, tid, 0, (uintptr_t)info);
}

int trace_event_message(pid_t tid, unsigned long *message)
{
	return call(PTRACE_GETEVENTMSG, tid, 0, (uintptr_t)message);
}

int trace_get_mask(pid_t tid, uint64_t *mask)
{
	return call(GET_SIGMASK, tid, sizeof(*mask), (uintptr_t)mask);
}

int trace_set_mask(pid_t tid, uint64_t mask)
{
	return call(SET_SIGMASK, tid, sizeof(mask), (uintptr_t)&mask);
}

int trace_syscall_info(pid_t tid, struct ptrace_syscall_info *info)
{
	int r = call(GET_SYSCALL_INFO, tid, sizeof(*info), (uintptr_t)info);

	/* Number and arguments lie where those of an entry do. */
	if (r >= 0 && info->op == PTRACE_SYSCALL_INFO_SECCOMP)
		info->op = PTRACE_SYSCALL_INFO_ENTRY;
	return r < 0 ? r : 0;
}

uint64_t trace_rseq(pid_t tid)
{
	struct ptrace_rseq_configuration config = { 0 };

	if (call(GET_RSEQ, tid, sizeof(config), (uintptr_t)&config) < 0)
		return 0;
	return config.rseq_abi_pointer;
}
