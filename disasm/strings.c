/* SPDX-License-Identifier: Apache-2.0 */
#include "disasm/strings.h"
#include "disasm/registers.h"

struct action {
	uint8_t opcode; /* the even one */
	bool source, target, compare;
	int64_t (*run)(struct string *string, uint64_t n);
};

static const struct action actions[] = {
	{ 0xa4, true, true, false, string_movs },
	{ 0xa6, true, true, true, string_cmps },
	{ 0xaa, false, true, false, string_stos },
	{ 0xac, true, false, false, string_lods },
	{ 0xae, false, true, true, string_scas },
};

/* At most @n elements: as many as go before the address wraps around. */
static uint64_t until_wrap(const struct string *string, const struct side *side,
			   uint64_t n)
{
	uint64_t room =
		string->down ? side->offset : string->mask - side->offset;

	return min_u64(n - 1, room / string->size) + 1;
}

static void move_on(const struct string *string, struct side *side, uint64_t n)
{
	uint64_t bytes = n * string->size;

	if (string->down)
		side->offset -= bytes;
	else
		side->offset += bytes;
	side->offset &= string->mask;
}

/*
 * Up to @left elements in as few steps as memory allows: a step that fails is
 * halved, so that the run ends at the last element that can be reached.  What
 * compares starts small, for it mostly ends soon.  Returns how many were
 * done, or -errno if not even one.
 */
static int64_t run_steps(struct string *string, const struct action *action,
			 uint64_t left)
{
	uint64_t most = RUN_MAX / string->size;
	uint64_t step = action->compare ? 256 / string->size : most;
	uint64_t done = 0;

	while (done < left) {
		uint64_t n = min_u64(step, left - done);
		int64_t r;

		if (action->source)
			n = until_wrap(string, &string->source, n);
		if (action->target)
			n = until_wrap(string, &string->target, n);
		r = action->run(string, n);
		if (r < 0 && n == 1)
			return done ? (int64_t)done : r;
		if (r < 0) {
			step = n / 2;
			left = min_u64(left, done + n);
			continue;
		}
		done += r;
		if (action->source)
			move_on(string, &string->source, r);
		if (action->target)
			move_on(string, &string->target, r);
		if (action->compare &&
		    (r < (int64_t)n || !string_goes_on(string)))
			break;
		if (action->compare)
			step = min_u64(step * 4, most);
	}
	return done;
}

static int64_t run(struct string *string, const struct action *action,
		   uint64_t left)
{
	struct user_regs_struct *regs = string->regs;
	int64_t done = run_steps(string, action, left);

	if (done < 0)
		return done;
	if (action->source)
		regs->rsi = string->source.offset;
	if (action->target)
		regs->rdi = string->target.offset;
	return done;
}

static int perform_xlat(const struct insn *insn, struct cpu *cpu,
			const struct memory *memory, struct effect *effects,
			unsigned *count)
{
	struct access access[ACCESS_MAX];
	uint8_t byte;
	int r;

	access_of(insn, &cpu->regs, access);
	r = memory_read(memory, access[0].addr, &byte, 1);
	if (r < 0)
		return r;
	effect_set(&effects[0], access[0].addr, 1, ACCESS_READ, &byte, &byte);
	cpu->regs.rax = (cpu->regs.rax & ~UINT64_C(0xff)) | byte;
	perform_advance(insn, cpu);
	*count = 1;
	return EXECUTE_DONE;
}

static const struct action *find_action(uint8_t opcode)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (actions[i].opcode == (opcode & ~1))
			return &actions[i];
	return NULL;
}

static void prepare(struct string *string, const struct action *action,
		    struct effect *effects)
{
	const struct insn *insn = string->insn;
	struct effect *next = effects;

	string->mask = insn->address32 ? UINT32_MAX : UINT64_MAX;
	string->size = insn->size;
	string->down = string->regs->eflags & FLAG_DF;
	string->source.offset = string->regs->rsi & string->mask;
	string->source.base = segment_base(string->regs, insn->segment);
	string->target.offset = string->regs->rdi & string->mask;
	if (action->source)
		string->source.effect = next++;
	if (action->target)
		string->target.effect = next++;
	for (struct effect *effect = effects; effect < next; effect++)
		effect->access.count = effect->access.size = effect->shown = 0;
}

int perform_string(struct run_buffer *buffer, const struct insn *insn,
		   struct cpu *cpu, const struct memory *memory,
		   struct effect *effects, unsigned *count)
{
	const struct action *action = find_action(insn->opcode);
	struct user_regs_struct regs = cpu->regs;
	struct string string = { .insn = insn,
				 .regs = &regs,
				 .memory = memory,
				 .buffer = buffer->bytes };
	uint64_t left = 1;
	int64_t done = 0;

	if (insn->lock)
		return EXECUTE_STEP;
	if (insn->opcode == 0xd7)
		return perform_xlat(insn, cpu, memory, effects, count);
	if (!action)
		return EXECUTE_STEP;
	prepare(&string, action, effects);
	if (insn->repeat)
		left = regs.rcx & string.mask;
	if (left)
		done = run(&string, action,
			   min_u64(left, RUN_WHOLE / string.size));
	if (done < 0)
		return done;
	left -= done;
	/* A count of none leaves rcx alone, also its upper half with 67. */
	if (insn->repeat && done)
		regs.rcx = left;
	cpu->regs = regs;
	if (!insn->repeat || left == 0 ||
	    (action->compare && !string_goes_on(&string)))
		perform_advance(insn, cpu);
	*count = done ? action->source + action->target : 0;
	return EXECUTE_DONE;
}
