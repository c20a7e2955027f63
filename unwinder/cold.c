/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <libunwind.h>
#include <string.h>

#include "unwinder/cold.h"

/*
 * Exported by libunwind and used by its own libunwind-ptrace, but in none of
 * its installed headers.  Searches the table that @info tells of.
 */
int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip,
				       unw_dyn_info_t *info,
				       unw_proc_info_t *ret, int need,
				       void *context);

struct cold {
	struct image *image;
	unw_addr_space_t space;
	unw_cursor_t cursor;
	struct user_regs_struct regs; /* the cursor's first frame */
	struct cold_frame frame;
	bool nothing; /* the last look-up found no unwind information */
	struct cold_probe *probe; /* the one that is on, or NULL */
};

/* Between the words of a probe: farther than any offset in a rule. */
#define PROBE_APART UINT64_C(0x0000040000000a58)

static int find_proc_info(unw_addr_space_t as, unw_word_t ip,
			  unw_proc_info_t *ret, int need, void *context)
{
	struct cold *cold = context;
	struct module *module = image_module(cold->image, ip);
	unw_dyn_info_t info = { 0 };
	int r;

	cold->nothing = true;
	if (cold->probe) {
		/* the second one only tells where it would look */
		if (++cold->probe->lookups <= 2)
			cold->probe->looked_up = ip;
		if (cold->probe->lookups > 1)
			return -UNW_ENOINFO;
	}
	if (!module || module->state != MODULE_TABLES)
		return -UNW_ENOINFO;
	info.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	info.start_ip = module->extent.start;
	info.end_ip = module->extent.end;
	info.u.rti.segbase = module->extent.eh_frame_hdr;
	info.u.rti.table_data = module->table;
	/* in words, and an entry is two int32_t */
	info.u.rti.table_len = module->entries;
	r = _Ux86_64_dwarf_search_unwind_table(as, ip, &info, ret, need,
					       context);
	cold->nothing = r < 0;
	return r;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *info,
			    void *context)
{
	/* what the search allocated, libunwind frees itself */
}

static int no_dynamic_info(unw_addr_space_t as, unw_word_t *ret, void *context)
{
	return -UNW_ENOINFO;
}

/* The same word of the same probe has the same value. */
static int probe_word(struct cold_probe *probe, uint64_t addr,
		      unw_word_t *value)
{
	size_t i = 0;

	while (i < probe->reads && probe->read[i].addr != addr)
		i++;
	if (i == COLD_PROBE_READS)
		return -UNW_EINVAL;
	if (i == probe->reads) {
		probe->read[i].addr = addr;
		probe->read[i].value = probe->value + i * PROBE_APART;
		probe->reads++;
	}
	*value = probe->read[i].value;
	return 0;
}

static int access_memory(unw_addr_space_t as, unw_word_t addr,
			 unw_word_t *value, int write, void *context)
{
	struct cold *cold = context;

	if (write)
		return -UNW_EINVAL;
	if (cold->probe && !image_is_fixed(cold->image, addr))
		return probe_word(cold->probe, addr, value);
	return image_word(cold->image, addr, value) < 0 ? -UNW_EINVAL : 0;
}

/* The registers that DWARF numbers 0 to 16, in its order. */
static const size_t offsets[] = {
	[UNW_X86_64_RAX] = offsetof(struct user_regs_struct, rax),
	[UNW_X86_64_RDX] = offsetof(struct user_regs_struct, rdx),
	[UNW_X86_64_RCX] = offsetof(struct user_regs_struct, rcx),
	[UNW_X86_64_RBX] = offsetof(struct user_regs_struct, rbx),
	[UNW_X86_64_RSI] = offsetof(struct user_regs_struct, rsi),
	[UNW_X86_64_RDI] = offsetof(struct user_regs_struct, rdi),
	[UNW_X86_64_RBP] = offsetof(struct user_regs_struct, rbp),
	[UNW_X86_64_RSP] = offsetof(struct user_regs_struct, rsp),
	[UNW_X86_64_R8] = offsetof(struct user_regs_struct, r8),
	[UNW_X86_64_R9] = offsetof(struct user_regs_struct, r9),
	[UNW_X86_64_R10] = offsetof(struct user_regs_struct, r10),
	[UNW_X86_64_R11] = offsetof(struct user_regs_struct, r11),
	[UNW_X86_64_R12] = offsetof(struct user_regs_struct, r12),
	[UNW_X86_64_R13] = offsetof(struct user_regs_struct, r13),
	[UNW_X86_64_R14] = offsetof(struct user_regs_struct, r14),
	[UNW_X86_64_R15] = offsetof(struct user_regs_struct, r15),
	[UNW_X86_64_RIP] = offsetof(struct user_regs_struct, rip),
};

static unsigned long long *register_of(struct user_regs_struct *regs, int reg)
{
	return (unsigned long long *)((char *)regs + offsets[reg]);
}

static int access_register(unw_addr_space_t as, unw_regnum_t reg,
			   unw_word_t *value, int write, void *context)
{
	struct cold *cold = context;

	if (write)
		return -UNW_EREADONLYREG;
	if (reg < 0 || (size_t)reg >= ARRAY_SIZE(offsets))
		return -UNW_EBADREG;
	*value = *register_of(&cold->regs, reg);
	return 0;
}

static int no_fp_register(unw_addr_space_t as, unw_regnum_t reg,
			  unw_fpreg_t *value, int write, void *context)
{
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *context)
{
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t as, unw_word_t addr, char *buffer,
		   size_t size, unw_word_t *offset, void *context)
{
	return -UNW_ENOINFO;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = no_dynamic_info,
	.access_mem = access_memory,
	.access_reg = access_register,
	.access_fpreg = no_fp_register,
	.resume = no_resume,
	.get_proc_name = no_name,
};

int cold_new(struct cold **ret, struct image *image)
{
	_cleanup_(cold_freep) struct cold *cold = NULL;

	cold = calloc(1, sizeof(*cold));
	if (!cold)
		return -ENOMEM;
	cold->image = image;
	cold->space = unw_create_addr_space(&accessors, 0);
	if (!cold->space)
		return -ENOMEM;
	/*
	 * Its cache is keyed by ip alone, although the rule differs for the
	 * same ip as a return address: false stacks behind calls that do not
	 * return.
	 */
	unw_set_caching_policy(cold->space, UNW_CACHE_NONE);
	*ret = take(cold);
	return 0;
}

void cold_free(struct cold *cold)
{
	if (!cold)
		return;
	if (cold->space)
		unw_destroy_addr_space(cold->space);
	free(cold);
}

/* libunwind keeps what it cannot tell as an error: that reads as 0. */
static uint64_t value_of(struct cold *cold, int reg)
{
	unw_word_t value;

	return unw_get_reg(&cold->cursor, reg, &value) < 0 ? 0 : value;
}

static int note_frame(struct cold *cold)
{
	cold->frame.ip = value_of(cold, UNW_REG_IP);
	cold->frame.sp = value_of(cold, UNW_REG_SP);
	cold->frame.rbp = value_of(cold, UNW_X86_64_RBP);
	return cold->image->error;
}

/* Every register as the cursor has it, for a cursor begun anew. */
static void current_regs(struct cold *cold, struct user_regs_struct *ret)
{
	*ret = cold->regs;
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
		*register_of(ret, i) = value_of(cold, i);
	ret->rip = cold->frame.ip;
	ret->rsp = cold->frame.sp;
}

int cold_begin(struct cold *cold, const struct user_regs_struct *regs,
	       bool is_return)
{
	cold->image->budget = IMAGE_STEP_WORDS;
	cold->regs = *regs;
	/* libunwind looks up the first frame at rip itself */
	cold->regs.rip -= is_return;
	if (unw_init_remote(&cold->cursor, cold->space, cold) < 0)
		return -EINVAL;
	cold->frame = (struct cold_frame){ regs->rip, regs->rsp, regs->rbp };
	return cold->image->error;
}

bool cold_is_sigreturn(struct image *image, uint64_t ip)
{
	/* mov rax, __NR_rt_sigreturn; syscall */
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0x00,
					0x00, 0x00, 0x0f, 0x05 };
	uint8_t bytes[sizeof(code)];

	return image_read(image, ip, bytes, sizeof(bytes)) == 0 &&
	       !memcmp(bytes, code, sizeof(code));
}

int cold_step(struct cold *cold)
{
	unw_cursor_t before = cold->cursor;
	int r;

	cold->image->budget = IMAGE_STEP_WORDS;
	cold->nothing = false;
	r = unw_step(&cold->cursor);
	if (cold->image->error)
		return cold->image->error;
	/*
	 * Without unwind information libunwind follows rbp blindly, which
	 * gives garbage in padding and at a thread's birth.
	 */
	if (cold->nothing && !cold_is_sigreturn(cold->image, cold->frame.ip)) {
		cold->cursor = before;
		return COLD_NOTHING;
	}
	if (r < 0)
		return COLD_FAILED;
	if (r == 0)
		return COLD_BOTTOM;
	r = note_frame(cold);
	return r < 0 ? r : COLD_STEPPED;
}

void cold_frame(const struct cold *cold, struct cold_frame *ret)
{
	*ret = cold->frame;
}

int cold_resume(struct cold *cold, const struct cold_frame *caller)
{
	struct user_regs_struct regs;

	current_regs(cold, &regs);
	regs.rip = caller->ip;
	regs.rsp = caller->sp;
	regs.rbp = caller->rbp;
	return cold_begin(cold, &regs, true);
}

static const int saved[STATE_SAVED] = {
	[STATE_RBX] = UNW_X86_64_RBX, [STATE_RBP] = UNW_X86_64_RBP,
	[STATE_R12] = UNW_X86_64_R12, [STATE_R13] = UNW_X86_64_R13,
	[STATE_R14] = UNW_X86_64_R14, [STATE_R15] = UNW_X86_64_R15,
};

void cold_state(struct cold *cold, struct state *ret)
{
	for (size_t i = 0; i < STATE_SAVED; i++)
		ret->reg[i] = value_of(cold, saved[i]);
	ret->reg[STATE_SP] = cold->frame.sp;
	ret->ip = cold->frame.ip;
}

int cold_resume_state(struct cold *cold, const struct state *caller)
{
	struct user_regs_struct regs;

	current_regs(cold, &regs);
	for (size_t i = 0; i < STATE_SAVED; i++)
		*register_of(&regs, saved[i]) = caller->reg[i];
	regs.rip = caller->ip;
	regs.rsp = caller->reg[STATE_SP];
	return cold_begin(cold, &regs, caller->is_return);
}

static void probe_regs(struct cold *cold, const struct state *from)
{
	/* what no rule is made of: then the step cannot be told by one */
	memset(&cold->regs, 0x5b, sizeof(cold->regs));
	for (size_t i = 0; i < STATE_SAVED; i++)
		*register_of(&cold->regs, saved[i]) = from->reg[i];
	cold->regs.rsp = from->reg[STATE_SP];
	cold->regs.rip = from->ip - from->is_return;
}

static int probe_step(struct cold *cold, struct cold_probe *probe)
{
	struct state *caller = &probe->caller;
	int r;

	probe_regs(cold, &probe->from);
	if (unw_init_remote(&cold->cursor, cold->space, cold) < 0)
		return COLD_FAILED;
	/* looked up at the call, but what a rule computes with is the ip */
	cold->regs.rip = probe->from.ip;
	r = unw_step(&cold->cursor);
	if (cold->nothing)
		return COLD_NOTHING;
	if (r <= 0)
		return r == 0 ? COLD_BOTTOM : COLD_FAILED;
	caller->ip = value_of(cold, UNW_REG_IP);
	caller->reg[STATE_SP] = value_of(cold, UNW_REG_SP);
	for (size_t i = 0; i < STATE_SAVED; i++)
		caller->reg[i] = value_of(cold, saved[i]);
	/* where it looks next tells what it takes the caller's ip for */
	unw_step(&cold->cursor);
	if (probe->lookups < 2)
		return COLD_FAILED;
	caller->is_return = probe->looked_up != caller->ip;
	return COLD_STEPPED;
}

int cold_probe(struct cold *cold, struct cold_probe *probe)
{
	int r;

	probe->reads = 0;
	probe->lookups = 0;
	cold->image->budget = IMAGE_STEP_WORDS;
	cold->nothing = false;
	cold->probe = probe;
	r = probe_step(cold, probe);
	cold->probe = NULL;
	return cold->image->error ? cold->image->error : r;
}
