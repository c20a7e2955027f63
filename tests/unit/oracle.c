/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "disasm/registers.h"
#include "tests/unit/oracle.h"

enum { STEPS_MAX = 20000 };

static _Noreturn void child(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mmap((void *)ORACLE_CODE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		_exit(1);
	if (mmap((void *)ORACLE_WINDOW, ORACLE_SIZE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		_exit(1);
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static int seize(struct oracle *oracle)
{
	char path[64];
	int status;

	if (ptrace(PTRACE_SEIZE, oracle->pid, 0, PTRACE_O_EXITKILL) < 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, oracle->pid, 0, 0) < 0)
		return -errno;
	if (waitpid(oracle->pid, &status, __WALL) != oracle->pid)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/mem", oracle->pid);
	oracle->memory = open(path, O_RDWR | O_CLOEXEC);
	return oracle->memory < 0 ? -errno : 0;
}

static int learn(struct oracle *oracle)
{
	struct iovec io = { oracle->xstate, XSTATE_MAX };

	if (ptrace(PTRACE_GETREGS, oracle->pid, 0, &oracle->regs) < 0)
		return -errno;
	if (ptrace(PTRACE_GETREGSET, oracle->pid, NT_X86_XSTATE, &io) < 0)
		return -errno;
	oracle->xstate_size = io.iov_len;
	/* No system call to restart; RF is there by chance. */
	oracle->regs.orig_rax = -1;
	oracle->regs.eflags &= ~(uint64_t)FLAG_RF;
	return 0;
}

int oracle_new(struct oracle *oracle)
{
	int fds[2], r = 0;
	char byte;

	*oracle = (struct oracle){ .memory = -1 };
	oracle->xstate = aligned_alloc(64, XSTATE_MAX);
	if (!oracle->xstate || pipe(fds) < 0)
		return -ENOMEM;
	oracle->pid = fork();
	if (oracle->pid == 0)
		child(fds[1]);
	close(fds[1]);
	if (oracle->pid < 0 || read(fds[0], &byte, 1) != 1)
		r = -ECHILD;
	close(fds[0]);
	if (r == 0)
		r = seize(oracle);
	return r == 0 ? learn(oracle) : r;
}

void oracle_done(struct oracle *oracle)
{
	if (oracle->pid > 0) {
		kill(oracle->pid, SIGKILL);
		waitpid(oracle->pid, NULL, __WALL);
	}
	if (oracle->memory >= 0)
		close(oracle->memory);
	free(oracle->xstate);
}

static int put(struct oracle *oracle, const struct insn *insn,
	       const struct cpu *cpu, const uint8_t *window)
{
	struct iovec io = { cpu->xstate, cpu->xstate_size };
	uint8_t code[INSN_BYTES + 1];

	memcpy(code, insn->bytes, insn->length);
	code[insn->length] = 0xcc;
	if (pwrite(oracle->memory, code, insn->length + 1, ORACLE_CODE) !=
	    insn->length + 1)
		return -EIO;
	if (pwrite(oracle->memory, window, ORACLE_SIZE, ORACLE_WINDOW) !=
	    (ssize_t)ORACLE_SIZE)
		return -EIO;
	if (ptrace(PTRACE_SETREGSET, oracle->pid, NT_X86_XSTATE, &io) < 0)
		return -errno;
	return ptrace(PTRACE_SETREGS, oracle->pid, 0, &cpu->regs) < 0 ? -errno
								      : 0;
}

static int get(struct oracle *oracle, struct cpu *cpu, uint8_t *window)
{
	struct iovec io = { cpu->xstate, XSTATE_MAX };

	if (ptrace(PTRACE_GETREGSET, oracle->pid, NT_X86_XSTATE, &io) < 0)
		return -errno;
	return pread(oracle->memory, window, ORACLE_SIZE, ORACLE_WINDOW) ==
			       (ssize_t)ORACLE_SIZE
		       ? 0
		       : -EIO;
}

/* Stepping sets TF; after popf it shows, and pushf always stores it. */
static void hide_trap_flag(const struct insn *insn, struct cpu *cpu,
			   uint8_t *window)
{
	uint64_t at = cpu->regs.rsp - ORACLE_WINDOW;

	cpu->regs.eflags &= ~(uint64_t)FLAG_TF;
	if (insn->encoding == INSN_LEGACY && insn->map == 0 &&
	    insn->opcode == 0x9c && at < ORACLE_SIZE - 1)
		window[at + 1] &= ~1;
}

/* Where the signal says that it comes from; a #GP says nothing. */
static uint64_t fault_of(const struct oracle *oracle, int sig)
{
	siginfo_t info;

	if (sig != SIGSEGV ||
	    ptrace(PTRACE_GETSIGINFO, oracle->pid, 0, &info) < 0 ||
	    info.si_code == SI_KERNEL)
		return 0;
	return (uint64_t)(uintptr_t)info.si_addr;
}

int oracle_step(struct oracle *oracle, const struct insn *insn, struct cpu *cpu,
		uint8_t *window)
{
	uint64_t rip = cpu->regs.rip;
	int status, sig = SIGTRAP;

	if (put(oracle, insn, cpu, window) < 0)
		return -EIO;
	for (int i = 0; i < STEPS_MAX && sig == SIGTRAP; i++) {
		if (ptrace(PTRACE_SINGLESTEP, oracle->pid, 0, 0) < 0 ||
		    waitpid(oracle->pid, &status, __WALL) != oracle->pid ||
		    !WIFSTOPPED(status))
			return -ECHILD;
		sig = WSTOPSIG(status);
		if (ptrace(PTRACE_GETREGS, oracle->pid, 0, &cpu->regs) < 0)
			return -errno;
		/* A gather may be stopped between two lanes. */
		if (cpu->regs.rip != rip ||
		    (insn->kind != INSN_STRING && insn->kind != INSN_GATHER))
			break;
	}
	if (get(oracle, cpu, window) < 0)
		return -EIO;
	hide_trap_flag(insn, cpu, window);
	oracle->fault = fault_of(oracle, sig);
	return sig == SIGTRAP ? 0 : sig;
}

int oracle_protect(struct oracle *oracle, int prot)
{
	static const uint8_t code[] = { 0x0f, 0x05, 0xcc };
	struct user_regs_struct regs = oracle->regs;
	int status;

	regs.rip = ORACLE_CODE;
	regs.rax = SYS_mprotect;
	regs.rdi = ORACLE_WINDOW;
	regs.rsi = ORACLE_SIZE;
	regs.rdx = prot;
	if (pwrite(oracle->memory, code, sizeof(code), ORACLE_CODE) !=
	    sizeof(code))
		return -EIO;
	if (ptrace(PTRACE_SETREGS, oracle->pid, 0, &regs) < 0 ||
	    ptrace(PTRACE_CONT, oracle->pid, 0, 0) < 0 ||
	    waitpid(oracle->pid, &status, __WALL) != oracle->pid ||
	    !WIFSTOPPED(status) ||
	    ptrace(PTRACE_GETREGS, oracle->pid, 0, &regs) < 0)
		return -ECHILD;
	return (int)regs.rax;
}
