/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "disasm/access.h"
#include "disasm/insn.h"
#include "disasm/registers.h"
#include "tests/unit/insn_cases.h"

static const struct user_regs_struct regs = {
	.rax = 3, /* for xsave: x87 and SSE */
	.rcx = 3,
	.rdx = 0x30,
	.rbx = 0x4000,
	.rsp = 0x7000,
	.rbp = 0x8000,
	.rsi = 0x5000,
	.rdi = 0x6000,
	.r8 = -17,
	.rip = 0x100,
	.fs_base = 1 << 20,
};

static unsigned accesses(const char *bytes, size_t length,
			 const struct user_regs_struct *with,
			 struct access ret[ACCESS_MAX])
{
	struct insn insn;

	assert_int_equal(insn_decode((const uint8_t *)bytes, length, &insn), 0);
	return access_of(&insn, with, ret);
}

/*
 * What insn_cases says of (%rdi), or (%rsi) for lods, by the accesses there;
 * two operands are told in the order of the processor, which reads first.
 */
static void test_cases(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(insn_cases); i++) {
		const struct insn_case *c = &insn_cases[i];
		struct access access[ACCESS_MAX];
		unsigned n = accesses(c->bytes, c->length, &regs, access);
		const char *at_rdi = "-";

		for (unsigned k = 0; k < n; k++)
			if (access[k].addr == 0x6000 ||
			    (n == 1 && access[k].addr == 0x5000) ||
			    access[k].addr == regs.fs_base + 0x10)
				at_rdi = access_name(access[k].op);
		if (at_rdi[0] != c->op[0])
			fail_msg("%s: %s", c->text, at_rdi);
		if (!strcmp(c->op, "rw"))
			assert_string_equal(at_rdi, "rw");
		if (strcmp(c->op, "wr") && strcmp(c->op, "rr"))
			continue;
		assert_int_equal(n, 2);
		assert_int_equal(access[0].addr, 0x5000);
		assert_int_equal(access[0].op, ACCESS_READ);
		assert_int_equal(access[1].addr, 0x6000);
	}
}

static const struct {
	const char *bytes;
	uint8_t length;
	unsigned n;
	struct access access[2];
} operand_cases[] = {
	/* mov eax, [rbx + rcx*4 + 8] */
	{ "\x8b\x44\x8b\x08", 4, 1, { { 0x4014, 4, 1, 1 } } },
	/* mov eax, [rip + 0x10] */
	{ "\x8b\x05\x10\0\0\0", 6, 1, { { 0x116, 4, 1, 1 } } },
	/* mov eax, [r8d + 0x20]: wraps at 4 GiB */
	{ "\x67\x41\x8b\x40\x20", 5, 1, { { 0xf, 4, 1, 1 } } },
	/* bts [rdi], r8 with bit -17; bt word [rdi], dx with 0x30 */
	{ "\x4c\x0f\xab\x07", 4, 1, { { 0x5ff8, 8, 3, 1 } } },
	{ "\x66\x0f\xa3\x17", 4, 1, { { 0x6006, 2, 1, 1 } } },
	{ "\x50", 1, 1, { { 0x6ff8, 8, 2, 1 } } }, /* push rax */
	{ "\xc3", 1, 1, { { 0x7000, 8, 1, 1 } } }, /* ret */
	{ "\xc9", 1, 1, { { 0x8000, 8, 1, 1 } } }, /* leave */
	/* push [rdi]; pop [rsp + 8]; call [rdi]; jmp [rdi] */
	{ "\xff\x37", 2, 2, { { 0x6000, 8, 1, 1 }, { 0x6ff8, 8, 2, 1 } } },
	{ "\x8f\x44\x24\x08",
	  4,
	  2,
	  { { 0x7000, 8, 1, 1 }, { 0x7010, 8, 2, 1 } } },
	{ "\xff\x17", 2, 2, { { 0x6000, 8, 1, 1 }, { 0x6ff8, 8, 2, 1 } } },
	{ "\xff\x27", 2, 1, { { 0x6000, 8, 1, 1 } } },
	/* rep movsq, rcx = 3; stosb; xlat */
	{ "\xf3\x48\xa5",
	  3,
	  2,
	  { { 0x5000, 24, 1, 3 }, { 0x6000, 24, 2, 3 } } },
	{ "\xaa", 1, 1, { { 0x6000, 1, 2, 1 } } },
	{ "\xd7", 1, 1, { { 0x4003, 1, 1, 1 } } },
	{ "\x48\x8d\x07", 3, 0, { { 0 } } }, /* lea */
	{ "\x0f\xc7\x0f", 3, 1, { { 0x6000, 8, 3, 1 } } },
	{ "\x48\x0f\xc7\x0f", 4, 1, { { 0x6000, 16, 3, 1 } } },
	/* xsave, xsavec [rdi]; movdir64b rsi, [rdi]; clzero; push fs; pop gs */
	{ "\x0f\xae\x27", 3, 1, { { 0x6000, 576, 3, 1 } } },
	{ "\x0f\xc7\x27", 3, 1, { { 0x6000, 576, 2, 1 } } },
	{ "\x66\x0f\x38\xf8\x37",
	  5,
	  2,
	  { { 0x6000, 64, 1, 1 }, { 0x5000, 64, 2, 1 } } },
	{ "\x0f\x01\xfc", 3, 1, { { 0, 64, 2, 1 } } },
	{ "\x0f\xa0", 2, 1, { { 0x6ff8, 8, 2, 1 } } },
	{ "\x0f\xa9", 2, 1, { { 0x7000, 8, 1, 1 } } },
};

/* Every operand: where, how many bytes, how. */
static void test_operands(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(operand_cases); i++) {
		struct access access[ACCESS_MAX];
		unsigned n = accesses(operand_cases[i].bytes,
				      operand_cases[i].length, &regs, access);

		assert_int_equal(n, operand_cases[i].n);
		for (unsigned k = 0; k < n; k++) {
			const struct access *e = &operand_cases[i].access[k];

			if (access[k].addr != e->addr ||
			    access[k].size != e->size ||
			    access[k].op != e->op ||
			    access[k].count != e->count)
				fail_msg("case %zu operand %u: %#lx %lu %s %u",
					 i, k, access[k].addr, access[k].size,
					 access_name(access[k].op),
					 access[k].count);
		}
	}
}

static void test_backwards(void **state)
{
	struct user_regs_struct down = regs;
	struct access access[ACCESS_MAX];

	down.eflags = FLAG_DF;
	assert_int_equal(accesses("\xf3\xab", 2, &down, access), 1);
	assert_int_equal(access[0].addr, 0x5ff8);
	assert_int_equal(access[0].size, 12);
	/* A count of none touches nothing, one beyond reason is cut. */
	down.rcx = 0;
	assert_int_equal(accesses("\xf3\xab", 2, &down, access), 0);
	down.rcx = UINT64_MAX;
	assert_int_equal(accesses("\xf3\xab", 2, &down, access), 1);
	assert_int_equal(access[0].count, UINT32_MAX);
}

static void test_candidates(void **state)
{
	struct insn insn;
	uint64_t where[3];

	/* [rbx + rcx*4 + 8] */
	assert_int_equal(
		insn_decode((const uint8_t *)"\x8b\x44\x8b\x08", 4, &insn), 0);
	assert_int_equal(access_candidates(&insn, &regs, where), 3);
	assert_int_equal(where[0], 0x4000);
	assert_int_equal(where[1], 12);
	assert_int_equal(where[2], 0x400c);
	/* [rip + 0x10] */
	assert_int_equal(
		insn_decode((const uint8_t *)"\x8b\x05\x10\0\0\0", 6, &insn),
		0);
	assert_int_equal(access_candidates(&insn, &regs, where), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_operands),
		cmocka_unit_test(test_backwards),
		cmocka_unit_test(test_candidates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
