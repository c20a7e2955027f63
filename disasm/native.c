/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "disasm/encode.h"
#include "disasm/native.h"
#include "disasm/native_entry.h"
#include "disasm/registers.h"
#include "disasm/xstate.h"

enum {
	STUBS = 1024,
	STUB = 32, /* bytes: an instruction and the jump to the exit */
	BLOCKS = STUBS * STUB, /* where they begin */
	BLOCK = 64,
	CODE = BLOCKS + NATIVE_BLOCKS * BLOCK,
	FOP = 6, /* of the x87 state, with 64-bit pointers */
	FIP = 8,
	FDP = 16,
};

static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };

static const uint8_t leave_code[] = NATIVE_LEAVE_CODE;
_Static_assert(NATIVE_BLOCK + sizeof(leave_code) <= BLOCK, "its end fits");

struct stub {
	uint8_t bytes[INSN_BYTES];
	uint8_t key; /* the operand's place modulo 64; 0xff: not built */
};

/* What lies right after the code, within reach of a 32-bit displacement. */
struct data {
	struct context context;
	uint8_t scratch[NATIVE_SCRATCH] __attribute__((aligned(64)));
};

struct native {
	uint8_t *writable;   /* CODE bytes */
	uint8_t *executable; /* the same, and struct data */
	struct data *data;
	struct stub stubs[STUBS];
	struct xstate xstate;
	struct sigaction old[ARRAY_SIZE(signals)];
};

/* A handler has no other way to know. */
static struct native *active;

static void pass_on(const struct sigaction *old, int number, siginfo_t *info,
		    void *context)
{
	struct sigaction fallback = { .sa_handler = SIG_DFL };

	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(number, info, context);
		return;
	}
	if (old->sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
		old->sa_handler(number);
		return;
	}
	/* A fault comes again at once; a signal that was sent does not. */
	sigaction(number, &fallback, NULL);
	if (info->si_code <= 0)
		raise(number);
}

static bool inside(const struct native *native, uint64_t ip)
{
	uint64_t code = (uint64_t)(uintptr_t)native->executable;

	return (ip >= code && ip < code + CODE) ||
	       (ip >= (uint64_t)(uintptr_t)native_load &&
		ip < (uint64_t)(uintptr_t)native_loaded);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *at = context;
	greg_t *regs = at->uc_mcontext.gregs;

	if (active && info->si_code > 0 && inside(active, regs[REG_RIP])) {
		regs[REG_RIP] = (greg_t)(uintptr_t)native_fault;
		regs[REG_RDI] = (greg_t)(uintptr_t)&active->data->context;
		return;
	}
	for (size_t i = 0; active && i < ARRAY_SIZE(signals); i++)
		if (signals[i] == number)
			pass_on(&active->old[i], number, info, context);
}

static int install(struct native *native)
{
	struct sigaction action = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};

	if (active)
		return -EBUSY;
	active = native;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (sigaction(signals[i], &action, &native->old[i]) < 0)
			return -errno;
	return 0;
}

static void uninstall(struct native *native)
{
	if (active != native)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &native->old[i], NULL);
	active = NULL;
}

static int map(struct native *native)
{
	_cleanup_(closep) int fd = memfd_create("cls-code", MFD_CLOEXEC);
	size_t size = CODE + page_up(sizeof(struct data));
	uint8_t *area;

	if (fd < 0 || ftruncate(fd, CODE) < 0)
		return -errno;
	native->writable =
		mmap(NULL, CODE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (native->writable == MAP_FAILED) {
		native->writable = NULL;
		return -errno;
	}
	area = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	native->executable = area;
	native->data = (struct data *)(area + CODE);
	if (mmap(area, CODE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd,
		 0) == MAP_FAILED)
		return -errno;
	return 0;
}

int native_new(struct native **ret)
{
	_cleanup_(native_freep) struct native *native =
		calloc(1, sizeof(*native));
	int r;

	if (!native)
		return -ENOMEM;
	for (size_t i = 0; i < STUBS; i++)
		native->stubs[i].key = 0xff;
	xstate_measure(&native->xstate);
	r = map(native);
	if (r == 0)
		r = install(native);
	if (r < 0)
		return r;
	*ret = take(native);
	return 0;
}

void native_free(struct native *native)
{
	if (!native)
		return;
	uninstall(native);
	if (native->writable)
		munmap(native->writable, CODE);
	if (native->executable)
		munmap(native->executable, CODE + page_up(sizeof(struct data)));
	free(native);
}

uint8_t *native_scratch(struct native *native, uint64_t addr)
{
	return native->data->scratch + (addr & 63);
}

const struct xstate *native_xstate(const struct native *native)
{
	return &native->xstate;
}

static uint32_t hash(const struct insn *insn, uint8_t place)
{
	uint64_t a, b;

	memcpy(&a, insn->bytes, 8);
	memcpy(&b, insn->bytes + 7, 8);
	a = (a ^ (b << 5) ^ place) * UINT64_C(0x9e3779b97f4a7c15);
	return (a >> 40) & (STUBS - 1);
}

/* The code for @insn with its operand at @place in the scratch. */
static const void *find_stub(struct native *native, const struct insn *insn,
			     uint8_t place)
{
	uint32_t i = hash(insn, place);
	struct stub *stub = &native->stubs[i];
	uint8_t *code = native->writable + i * STUB;
	struct encoding encoding;
	int64_t distance;

	if (stub->key == place && !memcmp(stub->bytes, insn->bytes, INSN_BYTES))
		return native->executable + i * STUB;
	encode(insn, &encoding);
	distance = native->data->scratch + place -
		   (native->executable + i * STUB + encoding.length);
	for (unsigned k = 0; encoding.displacement && k < 4; k++)
		encoding.bytes[encoding.displacement + k] = distance >> (8 * k);
	memcpy(code, encoding.bytes, encoding.length);
	memcpy(code + encoding.length, leave_code, sizeof(leave_code));
	memcpy(stub->bytes, insn->bytes, INSN_BYTES);
	stub->key = place;
	native_serialize();
	return native->executable + i * STUB;
}

static void load_registers(struct context *context,
			   const struct user_regs_struct *regs,
			   unsigned stand_in)
{
	uint64_t *r = context->registers;

	r[0] = regs->rax;
	r[1] = regs->rcx;
	r[2] = regs->rdx;
	r[3] = regs->rbx;
	r[5] = regs->rbp;
	r[6] = regs->rsi;
	r[7] = regs->rdi;
	r[8] = regs->r8;
	r[9] = regs->r9;
	r[10] = regs->r10;
	r[11] = regs->r11;
	r[12] = regs->r12;
	r[13] = regs->r13;
	r[14] = regs->r14;
	r[15] = regs->r15;
	if (stand_in)
		r[stand_in] = regs->rsp;
	context->flags = (regs->eflags & (FLAGS_STATUS | FLAG_DF)) | 2;
}

static void store_registers(struct context *context,
			    struct user_regs_struct *regs, unsigned stand_in)
{
	uint64_t *r = context->registers;

	if (stand_in) {
		regs->rsp = r[stand_in];
		r[stand_in] = register_get(regs, stand_in);
	}
	regs->rax = r[0];
	regs->rcx = r[1];
	regs->rdx = r[2];
	regs->rbx = r[3];
	regs->rbp = r[5];
	regs->rsi = r[6];
	regs->rdi = r[7];
	regs->r8 = r[8];
	regs->r9 = r[9];
	regs->r10 = r[10];
	regs->r11 = r[11];
	regs->r12 = r[12];
	regs->r13 = r[13];
	regs->r14 = r[14];
	regs->r15 = r[15];
	regs->eflags = (regs->eflags & ~(uint64_t)FLAGS_STATUS) |
		       (context->flags & FLAGS_STATUS);
}

/* Bit string instructions get only the part of the index that is inside. */
static void load(struct context *context, const struct insn *insn,
		 const struct user_regs_struct *regs, unsigned stand_in,
		 const uint8_t *operand)
{
	unsigned reg = insn->reg == RSP && stand_in ? stand_in : insn->reg;

	load_registers(context, regs, stand_in);
	if (insn->bits)
		context->registers[reg] &= insn->size * 8 - 1;
	if (insn->implied)
		context->registers[RDI] = (uint64_t)(uintptr_t)operand;
}

/* A bit string's index, and an implied address, are only read. */
static void store(struct context *context, const struct insn *insn,
		  struct user_regs_struct *regs, unsigned stand_in)
{
	uint64_t index = insn->bits ? register_get(regs, insn->reg) : 0;

	if (insn->implied)
		context->registers[RDI] = regs->rdi;
	store_registers(context, regs, stand_in);
	if (insn->bits)
		register_set(regs, insn->reg, index);
}

/*
 * The x87 remembers where its last instruction was and what it touched; that
 * must not be our page.
 */
static void mend_x87(const struct native *native, const struct insn *insn,
		     uint64_t addr, struct cpu *cpu)
{
	uint64_t ip, data;
	uint64_t ours = (uint64_t)(uintptr_t)native->data;
	uint16_t opcode = (insn->opcode & 7) << 8;

	memcpy(&ip, cpu->xstate + FIP, sizeof(ip));
	if (!inside(native, ip))
		return;
	opcode |= insn->bytes[insn->modrm];
	memcpy(cpu->xstate + FIP, &cpu->regs.rip, sizeof(ip));
	memcpy(cpu->xstate + FOP, &opcode, sizeof(opcode));
	/*
	 * Some processors set this only when there was an exception.  It is
	 * the address within the segment.
	 */
	memcpy(&data, cpu->xstate + FDP, sizeof(data));
	addr -= segment_base(&cpu->regs, insn->segment);
	if (data >= ours && data < ours + sizeof(struct data))
		memcpy(cpu->xstate + FDP, &addr, sizeof(addr));
}

/* Legacy forms leave the upper halves alone, VEX clears them. */
static bool set_vector(struct native *native, const struct cpu *cpu,
		       bool legacy, bool changes)
{
	struct context *context = &native->data->context;

	if (!xstate_loaded(&native->xstate, cpu))
		return false;
	context->xstate = cpu->xstate;
	context->components = native->xstate.components;
	if (legacy)
		context->components &= XSTATE_LEGACY;
	context->vector = VECTOR_LOAD | (changes ? VECTOR_SAVE : 0) |
			  (native->xstate.component[2].size ? VECTOR_AVX : 0);
	return true;
}

int native_run(struct native *native, const struct insn *insn, uint64_t addr,
	       struct cpu *cpu)
{
	struct context *context = &native->data->context;
	unsigned stand_in = encode_stand_in(insn);

	context->vector = 0;
	if (insn->vector_in &&
	    !set_vector(native, cpu, insn->encoding == INSN_LEGACY,
			insn->vector_out))
		return EXECUTE_STEP;
	load(context, insn, &cpu->regs, stand_in, native_scratch(native, addr));
	if (native_enter(context, find_stub(native, insn, addr & 63)))
		return EXECUTE_STEP;
	store(context, insn, &cpu->regs, stand_in);
	if (insn->vector_out && insn->encoding == INSN_LEGACY && insn->map == 0)
		mend_x87(native, insn, addr, cpu);
	return EXECUTE_DONE;
}

void native_block(struct native *native, unsigned place, const uint8_t *code,
		  size_t size)
{
	uint8_t *to = native->writable + BLOCKS + place * BLOCK;

	memcpy(to, code, size);
	memcpy(to + size, leave_code, sizeof(leave_code));
	native_serialize();
}

int native_run_block(struct native *native, unsigned place,
		     const struct native_use *use, struct cpu *cpu)
{
	struct context *context = &native->data->context;

	context->vector = 0;
	if (use->vector && !set_vector(native, cpu, use->legacy, true))
		return EXECUTE_STEP;
	load_registers(context, &cpu->regs, use->stand_in);
	if (native_enter(context, native->executable + BLOCKS + place * BLOCK))
		return EXECUTE_STEP;
	store_registers(context, &cpu->regs, use->stand_in);
	return EXECUTE_DONE;
}
