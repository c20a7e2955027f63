/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "disasm/registers.h"

#define AT(name) offsetof(struct user_regs_struct, name)

static const uint8_t offsets[REGISTERS] = {
	AT(rax), AT(rcx), AT(rdx), AT(rbx), AT(rsp), AT(rbp), AT(rsi), AT(rdi),
	AT(r8),	 AT(r9),  AT(r10), AT(r11), AT(r12), AT(r13), AT(r14), AT(r15),
};

uint64_t register_get(const struct user_regs_struct *regs, unsigned number)
{
	uint64_t value;

	memcpy(&value, (const char *)regs + offsets[number & 15], 8);
	return value;
}

void register_set(struct user_regs_struct *regs, unsigned number,
		  uint64_t value)
{
	memcpy((char *)regs + offsets[number & 15], &value, 8);
}
