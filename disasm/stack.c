/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "disasm/perform.h"
#include "disasm/registers.h"

/* One instruction in the making; nothing of it is told before it is whole. */
struct stack {
	const struct insn *insn;
	struct user_regs_struct regs; /* rip still on the instruction */
	uint64_t next;		      /* where it goes on */
	const struct memory *memory;
	struct effect *effects;
	unsigned count;
};

static uint64_t immediate(const struct insn *insn)
{
	const uint8_t *from = insn->bytes + insn->immediate;
	int32_t d;
	int16_t w;

	switch (insn->length - insn->immediate) {
	case 1:
		return (int8_t)from[0];
	case 2:
		memcpy(&w, from, sizeof(w));
		return w;
	case 4:
		memcpy(&d, from, sizeof(d));
		return d;
	default:
		return 0;
	}
}

/* A branch to elsewhere faults, on some processors before rsp has moved. */
static bool canonical(uint64_t addr)
{
	return (uint64_t)((int64_t)(addr << 16) >> 16) == addr;
}

static int fetch(struct stack *stack, uint64_t addr, uint64_t *ret)
{
	unsigned size = stack->insn->size;
	int r;

	*ret = 0;
	r = memory_read(stack->memory, addr, ret, size);
	if (r == 0)
		effect_set(&stack->effects[stack->count++], addr, size,
			   ACCESS_READ, ret, ret);
	return r;
}

static int put(struct stack *stack, uint64_t addr, uint64_t value)
{
	unsigned size = stack->insn->size;
	uint64_t old = 0;
	int r;

	r = memory_read(stack->memory, addr, &old, size);
	if (r == 0)
		r = memory_write(stack->memory, addr, &value, size);
	if (r == 0)
		effect_set(&stack->effects[stack->count++], addr, size,
			   ACCESS_WRITE, &old, &value);
	return r;
}

static int push(struct stack *stack, uint64_t value)
{
	int r = put(stack, stack->regs.rsp - stack->insn->size, value);

	if (r == 0)
		stack->regs.rsp -= stack->insn->size;
	return r;
}

static int pop(struct stack *stack, uint64_t *ret)
{
	int r = fetch(stack, stack->regs.rsp, ret);

	if (r == 0)
		stack->regs.rsp += stack->insn->size;
	return r;
}

/* A 16-bit pop keeps the upper bits. */
static int pop_register(struct stack *stack, unsigned number)
{
	uint64_t value;
	int r = pop(stack, &value);

	if (r < 0)
		return r;
	if (stack->insn->size == 2)
		value |= register_get(&stack->regs, number) & ~UINT64_C(0xffff);
	register_set(&stack->regs, number, value);
	return 0;
}

static unsigned register_of(const struct insn *insn, uint8_t low)
{
	return (low & 7) | (insn->rex & 1) << 3;
}

/* push, call and jmp through memory or, for push and call, a register */
static int group5(struct stack *stack)
{
	const struct insn *insn = stack->insn;
	unsigned form = insn->reg & 7;
	uint64_t value;
	int r = 0;

	if (insn->memory)
		r = fetch(stack, access_address(insn, &stack->regs), &value);
	else
		value = register_get(
			&stack->regs,
			register_of(insn, insn->bytes[insn->modrm]));
	if (r < 0)
		return r;
	if (form == 6)
		return push(stack, value);
	if (!canonical(value))
		return EXECUTE_STEP;
	if (form == 2)
		r = push(stack, stack->next);
	stack->next = value;
	return r;
}

static int pop_operand(struct stack *stack)
{
	const struct insn *insn = stack->insn;
	uint64_t addr, value;
	int r;

	if (!insn->memory)
		return pop_register(
			stack, register_of(insn, insn->bytes[insn->modrm]));
	addr = access_address(insn, &stack->regs);
	r = pop(stack, &value);
	return r < 0 ? r : put(stack, addr, value);
}

static int return_(struct stack *stack)
{
	uint64_t value;
	int r = pop(stack, &value);

	if (r < 0)
		return r;
	if (!canonical(value))
		return EXECUTE_STEP;
	stack->next = value;
	stack->regs.rsp += immediate(stack->insn) & 0xffff;
	return 0;
}

/* What ring 3 with IOPL 0 may change. */
static int pop_flags(struct stack *stack)
{
	const uint64_t may =
		FLAGS_STATUS | FLAG_TF | FLAG_DF | FLAG_NT | FLAG_AC | FLAG_ID;
	uint64_t value;
	int r = pop(stack, &value);

	if (r < 0)
		return r;
	/* The one traps, the other cannot be set from outside. */
	if (value & FLAG_TF || (value ^ stack->regs.eflags) & FLAG_ID)
		return EXECUTE_STEP;
	stack->regs.eflags = (stack->regs.eflags & ~may) | (value & may);
	return 0;
}

static int leave(struct stack *stack)
{
	stack->regs.rsp = stack->regs.rbp;
	return pop_register(stack, RBP);
}

static int enter(struct stack *stack)
{
	const uint8_t *from = stack->insn->bytes + stack->insn->immediate;
	uint64_t frame = stack->regs.rsp - stack->insn->size;
	uint64_t top = frame - (from[0] | from[1] << 8), probe;
	int r;

	if (from[2] & 31)
		return EXECUTE_STEP;
	/* The processor faults if the new top could not be written. */
	if (memory_read(stack->memory, top, &probe, stack->insn->size) < 0)
		return EXECUTE_STEP;
	r = push(stack, stack->regs.rbp);
	if (r < 0)
		return r;
	stack->regs.rbp = frame;
	stack->regs.rsp = top;
	return 0;
}

static int dispatch(struct stack *stack)
{
	const struct insn *insn = stack->insn;
	struct user_regs_struct *regs = &stack->regs;
	uint64_t after = stack->next;

	switch (insn->opcode) {
	case 0x50 ... 0x57:
		return push(
			stack,
			register_get(regs, register_of(insn, insn->opcode)));
	case 0x58 ... 0x5f:
		return pop_register(stack, register_of(insn, insn->opcode));
	case 0x68:
	case 0x6a:
		return push(stack, immediate(insn));
	case 0x8f:
		return pop_operand(stack);
	case 0x9c:
		return push(stack,
			    regs->eflags & ~(uint64_t)(FLAG_RF | FLAG_VM));
	case 0x9d:
		return pop_flags(stack);
	case 0xc2:
	case 0xc3:
		return return_(stack);
	case 0xc8:
		return enter(stack);
	case 0xc9:
		return leave(stack);
	case 0xe8:
		stack->next += immediate(insn);
		return push(stack, after);
	case 0xff:
		return group5(stack);
	default:
		return EXECUTE_STEP;
	}
}

/*
 * With 66 the makers differ about branches, and a frame of 16 bits is nobody's
 * code.
 */
static bool odd(const struct insn *insn)
{
	switch (insn->opcode) {
	case 0x9d:
	case 0xc2 ... 0xc3:
	case 0xc8 ... 0xc9:
	case 0xe8:
		return insn->operand16;
	case 0xff:
		return insn->operand16 && (insn->reg & 7) != 6;
	default:
		return false;
	}
}

int perform_stack(const struct insn *insn, struct cpu *cpu,
		  const struct memory *memory, struct effect *effects,
		  unsigned *count)
{
	struct stack stack = { .insn = insn,
			       .regs = cpu->regs,
			       .next = cpu->regs.rip + insn->length,
			       .memory = memory,
			       .effects = effects };
	int r;

	if (odd(insn) || insn->lock)
		return EXECUTE_STEP;
	r = dispatch(&stack);
	if (r != EXECUTE_DONE)
		return r;
	cpu->regs = stack.regs;
	perform_advance(insn, cpu);
	cpu->regs.rip = stack.next;
	*count = stack.count;
	return EXECUTE_DONE;
}
