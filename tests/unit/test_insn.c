/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "disasm/access.h"
#include "disasm/insn.h"
#include "tests/unit/insn_cases.h"

static int decode(const char *bytes, size_t length, struct insn *insn)
{
	return insn_decode((const uint8_t *)bytes, length, insn);
}

static uint8_t op_of(const char *text)
{
	return (strchr(text, 'r') ? ACCESS_READ : 0) |
	       (strchr(text, 'w') ? ACCESS_WRITE : 0);
}

/* Lengths, and the direction of the explicit operand. */
static void test_cases(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(insn_cases); i++) {
		const struct insn_case *c = &insn_cases[i];
		struct insn insn;

		if (decode(c->bytes, c->length, &insn) != 0)
			fail_msg("%s is not decoded", c->text);
		if (insn.length != c->length)
			fail_msg("%s: length %u", c->text, insn.length);
		if (insn.kind == INSN_NONE)
			assert_string_equal(c->op, "-");
		else if (insn.kind == INSN_NATIVE && insn.op != op_of(c->op))
			fail_msg("%s: op %u", c->text, insn.op);
		assert_memory_equal(insn.bytes, c->bytes, c->length);
	}
}

/* Without its last byte each wants more; with more it is the same. */
static void test_ends(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(insn_cases); i++) {
		const struct insn_case *c = &insn_cases[i];
		uint8_t bytes[2 * INSN_BYTES] = { 0 };
		struct insn insn;

		for (size_t n = 0; n < c->length; n++)
			assert_int_equal(decode(c->bytes, n, &insn), -ENODATA);
		memcpy(bytes, c->bytes, c->length);
		assert_int_equal(insn_decode(bytes, sizeof(bytes), &insn), 0);
		assert_int_equal(insn.length, c->length);
	}
}

/* No instruction, or none of those we know. */
static void test_none(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} cases[] = {
		{ "\x06", 1 },		   /* push es */
		{ "\x9a\0\0\0\0\0\0", 7 }, /* call far */
		{ "\x0f\x04\x00", 3 },
		{ "\xd9\x0f", 2 }, /* x87 without a meaning */
		{ "\xc7\x7f\x00\0\0\0\0", 7 },
		{ "\x8f\xe9\x78\x12\xc0", 5 },	   /* XOP */
		{ "\x66\xc5\xf8\x10\x07", 5 },	   /* 66 before VEX */
		{ "\x48\xc5\xf8\x10\x07", 5 },	   /* REX before VEX */
		{ "\x62\xf9\x7c\x48\x10\x07", 6 }, /* APX */
		{ "\xc4\xe9\x78\x10\x07", 5 },	   /* VEX map 9 */
		{ "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66"
		  "\x66\x66\x90",
		  15 },
		{ "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66"
		  "\x66\x66\x66\x90",
		  16 },
	};
	struct insn insn;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int expected = cases[i].length == 15 ? 0 : -EILSEQ;

		assert_int_equal(decode(cases[i].bytes, cases[i].length, &insn),
				 expected);
	}
}

/* Fields, in instructions that were taken apart by hand. */
static void test_fields(void **state)
{
	static const struct {
		const char *bytes;
		uint8_t length;
		int8_t base, index;
		uint8_t scale, size;
		int64_t offset;
		enum insn_kind kind;
	} cases[] = {
		/* mov rax, [r12 + r13*8 - 0x10] */
		{ "\x4b\x8b\x44\xec\xf0", 5, 12, 13, 8, 8, -16, INSN_NATIVE },
		/* mov eax, [rsp]; mov eax, [r12]; index 4 is none */
		{ "\x8b\x04\x24", 3, 4, -1, 1, 4, 0, INSN_NATIVE },
		{ "\x41\x8b\x04\x24", 4, 12, -1, 1, 4, 0, INSN_NATIVE },
		/* mov ax, [rip + 0x100] */
		{ "\x66\x8b\x05\x00\x01\0\0", 7, -1, -1, 1, 2, 256,
		  INSN_NATIVE },
		/* mov al, [0x1122334455667788] */
		{ "\xa0\x88\x77\x66\x55\x44\x33\x22\x11", 9, -1, -1, 1, 1,
		  0x1122334455667788, INSN_NATIVE },
		/* vmovdqu64 zmm1, [rdi + 64*2]; vaddpd zmm1, zmm2,
		   [rdi+8]{1to8} */
		{ "\x62\xf1\xfe\x48\x6f\x4f\x02", 7, 7, -1, 1, 64, 128,
		  INSN_NATIVE },
		{ "\x62\xf1\xed\x58\x58\x4f\x01", 7, 7, -1, 1, 8, 8,
		  INSN_NATIVE },
		/* vpcompressd [rdi + 4]{k1}, zmm0: units of a lane */
		{ "\x62\xf2\x7d\x49\x8b\x47\x01", 7, 7, -1, 1, 64, 4,
		  INSN_NATIVE },
		/* a REX that is not last does not count: mov eax, [rdi] */
		{ "\x48\x67\x8b\x07", 4, 7, -1, 1, 4, 0, INSN_NATIVE },
		/* vpgatherdd: its index is a vector */
		{ "\xc4\xe2\x65\x90\x0c\x97", 6, 7, -1, 4, 4, 0, INSN_GATHER },
		/* vpunpcklbw zmm0{k1}, zmm0, [rdi]: the mask is for zmm0 */
		{ "\x62\xf1\x7d\x49\x60\x07", 6, 7, -1, 1, 64, 0, INSN_NATIVE },
		/* vextracti32x4 [rdi]{k1}, zmm0, 1 */
		{ "\x62\xf3\x7d\x49\x39\x07\x01", 7, 7, -1, 1, 16, 0,
		  INSN_STEP },
		{ "\xf3\x48\xab", 3, -1, -1, 1, 8, 0, INSN_STRING },
		{ "\x66\x50", 2, -1, -1, 1, 2, 0, INSN_STACK },
		{ "\x48\x8d\x07", 3, 7, -1, 1, 0, 0, INSN_NONE },
		{ "\x0f\x05", 2, -1, -1, 1, 0, 0, INSN_NONE },
		{ "\x8e\x1f", 2, 7, -1, 1, 2, 0, INSN_STEP },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct insn insn;

		assert_int_equal(decode(cases[i].bytes, cases[i].length, &insn),
				 0);
		if (insn.length != cases[i].length ||
		    insn.base != cases[i].base ||
		    insn.index != cases[i].index ||
		    insn.scale != cases[i].scale ||
		    insn.size != cases[i].size ||
		    insn.offset != cases[i].offset ||
		    insn.kind != cases[i].kind)
			fail_msg("case %zu: length %u base %d index %d scale "
				 "%u size %u offset %ld kind %d",
				 i, insn.length, insn.base, insn.index,
				 insn.scale, insn.size, insn.offset, insn.kind);
	}
}

/* Where Capstone 4 knows nothing, or the wrong thing. */
static const struct {
	const char *bytes;
	uint8_t length;
	const char *text;
} mended[] = {
	{ "\xc4\xe1\xf8\x90\x0f", 5, "kmovq k1, qword ptr [rdi]" },
	{ "\xc5\xf9\x91\x4f\x10", 5, "kmovb byte ptr [rdi + 0x10], k1" },
	{ "\x62\xf3\x6d\x58\x25\x4f\xff\x96", 8,
	  "vpternlogd zmm1, zmm2, dword ptr [rdi - 4]{1to16}, 0x96" },
	{ "\x62\xf3\x75\x21\x3e\x05\x00\x01\x00\x00\x06", 11,
	  "vpcmpub k0 {k1}, ymm17, ymmword ptr [0x110b], 6" },
	{ "\xc4\xe2\x61\x90\x0c\x97", 6,
	  "vpgatherdd xmm1, dword ptr [rdi + xmm2*4], xmm3" },
	{ "\x62\xf2\xfd\x49\xa2\x04\x97", 7,
	  "vscatterdpd qword ptr [rdi + ymm2*4] {k1}, zmm0" },
	{ "\xf3\x66\xa7", 3, "repe cmpsw word ptr [rsi], word ptr [rdi]" },
	{ "\x66\xad", 2, "lodsw ax, word ptr [rsi]" },
	{ "\xf3\xa5", 2, "rep movsd dword ptr [rdi], dword ptr [rsi]" },
};

static void test_text(void **state)
{
	_cleanup_(insn_names_freep) struct insn_names *names = NULL;
	const char *text;
	struct insn insn;

	assert_int_equal(insn_names_new(&names), 0);
	assert_int_equal(decode("\x48\x89\x47\x08", 4, &insn), 0);
	text = insn_text(names, &insn, 0x1000);
	assert_string_equal(text, "mov qword ptr [rdi + 8], rax");
	/* relative to where it stands */
	assert_int_equal(decode("\xe8\x00\x01\x00\x00", 5, &insn), 0);
	text = insn_text(names, &insn, 0x1000);
	assert_string_equal(text, "call 0x1105");
	for (size_t i = 0; i < ARRAY_SIZE(mended); i++) {
		assert_int_equal(
			decode(mended[i].bytes, mended[i].length, &insn), 0);
		text = insn_text(names, &insn, 0x1000);
		assert_string_equal(text, mended[i].text);
	}
	/* vgf2p8mulb zmm0, zmm0, [rdi] is not known to Capstone 4 */
	assert_int_equal(decode("\x62\xf2\x7d\x48\xcf\x07", 6, &insn), 0);
	text = insn_text(names, &insn, 0x1000);
	assert_true(!strncmp(text, "vgf2p8mulb ", 11) ||
		    !strcmp(text, ".byte 0x62, 0xf2, 0x7d, 0x48, 0xcf, 0x07"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases), cmocka_unit_test(test_ends),
		cmocka_unit_test(test_none),  cmocka_unit_test(test_fields),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
