/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "disasm/ahead_parts.h"
#include "disasm/registers.h"
#include "tests/unit/rowbytes.h"

/* May these bytes run, on registers or as a branch? */
static bool runs(const uint8_t *bytes, size_t size)
{
	struct ahead_code code;
	struct insn insn;

	return insn_decode(bytes, size, &insn) == 0 &&
	       (ahead_is_branch(&insn) || ahead_code(&insn, &code));
}

#define BYTES(...)                                                             \
	{                                                                      \
		sizeof((uint8_t[]){ __VA_ARGS__ }),                            \
		{                                                              \
			__VA_ARGS__                                            \
		}                                                              \
	}

struct bytes {
	size_t size;
	uint8_t byte[INSN_BYTES];
};

static void test_refused(void **state)
{
	static const struct bytes cases[] = {
		BYTES(0x0f, 0x05),		     /* syscall */
		BYTES(0x0f, 0x34),		     /* sysenter */
		BYTES(0xcc),			     /* int3 */
		BYTES(0xcd, 0x80),		     /* int 0x80 */
		BYTES(0xf1),			     /* int1 */
		BYTES(0x0f, 0x0b),		     /* ud2 */
		BYTES(0xf4),			     /* hlt */
		BYTES(0xfa),			     /* cli */
		BYTES(0xe4, 0x10),		     /* in al, 16 */
		BYTES(0xee),			     /* out dx, al */
		BYTES(0xf3, 0x90),		     /* pause */
		BYTES(0x0f, 0xa2),		     /* cpuid */
		BYTES(0x0f, 0x31),		     /* rdtsc */
		BYTES(0x0f, 0x33),		     /* rdpmc */
		BYTES(0x0f, 0x01, 0xf9),	     /* rdtscp */
		BYTES(0x0f, 0x01, 0xd0),	     /* xgetbv */
		BYTES(0x0f, 0x01, 0xd5),	     /* xend */
		BYTES(0x0f, 0x01, 0xee),	     /* rdpkru */
		BYTES(0x0f, 0x01, 0xef),	     /* wrpkru */
		BYTES(0x0f, 0x01, 0xd7),	     /* enclu */
		BYTES(0x0f, 0x01, 0xc1),	     /* vmcall */
		BYTES(0x0f, 0x01, 0xd9),	     /* vmmcall */
		BYTES(0x0f, 0x01, 0xca),	     /* clac */
		BYTES(0xf3, 0x0f, 0x01, 0xee),	     /* clui */
		BYTES(0xf3, 0x0f, 0xae, 0xc0),	     /* rdfsbase */
		BYTES(0xf3, 0x48, 0x0f, 0xae, 0xd8), /* wrgsbase */
		BYTES(0xf3, 0x0f, 0xc7, 0xf8),	     /* rdpid */
		BYTES(0xf3, 0x0f, 0xc7, 0xf0),	     /* senduipi */
		BYTES(0x0f, 0xc7, 0xf0),	     /* rdrand */
		BYTES(0x0f, 0xc7, 0xf8),	     /* rdseed */
		BYTES(0xc6, 0xf8, 0x00),	     /* xabort */
		BYTES(0xc7, 0xf8, 0, 0, 0, 0),	     /* xbegin */
		BYTES(0xf3, 0x48, 0x0f, 0x1e, 0xc8), /* rdsspq */
		BYTES(0xf3, 0x48, 0x0f, 0xae, 0xe8), /* incsspq */
		BYTES(0x0f, 0xae, 0xe8),	     /* lfence */
		BYTES(0x0f, 0x20, 0xc0),	     /* mov rax, cr0 */
		BYTES(0x8c, 0xd8),		     /* mov eax, ds */
		BYTES(0x8e, 0xd8),		     /* mov ds, eax */
		BYTES(0x0f, 0x00, 0xc8),	     /* str eax */
		BYTES(0x0f, 0x78, 0xc8),	     /* vmread */
		BYTES(0x0f, 0x37),		     /* getsec */
		BYTES(0x0f, 0x32),		     /* rdmsr */
		BYTES(0xd5, 0x10),	       /* no longer an instruction */
		BYTES(0x9d),		       /* popf */
		BYTES(0xcf),		       /* iret */
		BYTES(0xcb),		       /* far ret */
		BYTES(0xff, 0xd0),	       /* call rax: by the stack */
		BYTES(0x66, 0xe9, 0, 0, 0, 0), /* jmp with 66 */
		BYTES(0xf0, 0x01, 0xc8),       /* lock add eax, ecx */
		BYTES(0x40, 0x00, 0xe0),       /* add al, spl */
		BYTES(0x94),		       /* xchg rsp, rax */
		BYTES(0x48, 0xd3, 0xe4),       /* shl rsp, cl */
		BYTES(0x48, 0xbc, 0, 0, 0, 0, 0, 0, 0, 0), /* mov rsp, 0 */
		BYTES(0xf3, 0x0f, 0x3a, 0xf0, 0xc0, 0),	   /* hreset */
		BYTES(0xf3, 0x0f, 0x38, 0xdc, 0xc1),	   /* loadiwkey */
		BYTES(0xf3, 0x0f, 0x38, 0xfa, 0xc1),	   /* encodekey128 */
		BYTES(0xc4, 0xe2, 0x78, 0x49, 0xc0),	   /* tilerelease */
		BYTES(0xc4, 0xe2, 0x7b, 0x49, 0xc0),	   /* tilezero */
		/* vcvttss2si r20d, xmm0 */
		BYTES(0x62, 0xe1, 0x7e, 0x08, 0x2c, 0xe0),
		BYTES(0x8b, 0x03),	       /* mov eax, [rbx] */
		BYTES(0x66, 0x0f, 0xf7, 0xc1), /* maskmovdqu */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (runs(cases[i].byte, cases[i].size))
			print_error("case %zu runs\n", i);
		assert_false(runs(cases[i].byte, cases[i].size));
	}
}

static void test_allowed(void **state)
{
	static const struct bytes cases[] = {
		BYTES(0x48, 0x01, 0xd8),		   /* add rax, rbx */
		BYTES(0x48, 0x83, 0xec, 0x18),		   /* sub rsp, 24 */
		BYTES(0x48, 0x89, 0xe5),		   /* mov rbp, rsp */
		BYTES(0x00, 0xe0),			   /* add al, ah */
		BYTES(0x90),				   /* nop */
		BYTES(0xf3, 0x0f, 0x1e, 0xfa),		   /* endbr64 */
		BYTES(0x0f, 0x1f, 0x40, 0x00),		   /* nop [rax] */
		BYTES(0x48, 0x8d, 0x04, 0x24),		   /* lea rax, [rsp] */
		BYTES(0x75, 0xfe),			   /* jne */
		BYTES(0x3e, 0xff, 0xe0),		   /* notrack jmp rax */
		BYTES(0xf3, 0x48, 0x0f, 0xb8, 0xc3),	   /* popcnt rax, rbx */
		BYTES(0x66, 0x0f, 0xef, 0xe4),		   /* pxor xmm4, xmm4 */
		BYTES(0xc5, 0xf5, 0x58, 0xc2),		   /* vaddpd ymm */
		BYTES(0xc4, 0xe2, 0xf0, 0xf2, 0xc2),	   /* andn */
		BYTES(0xc5, 0xf8, 0x77),		   /* vzeroupper */
		BYTES(0x62, 0xf1, 0xf5, 0x48, 0x58, 0xc2), /* vaddpd zmm */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!runs(cases[i].byte, cases[i].size))
			print_error("case %zu does not run\n", i);
		assert_true(runs(cases[i].byte, cases[i].size));
	}
}

/* Something of each part of the opcode map, at random. */
static void make(struct random *random, uint8_t bytes[INSN_BYTES])
{
	static const uint8_t prefixes[] = { 0x66, 0xf2, 0xf3, 0x67,
					    0x48, 0x41, 0x4c, 0x40 };
	unsigned n = random_below(random, 3), at = 0;

	for (unsigned i = 0; i < INSN_BYTES; i++)
		bytes[i] = random_next(random) >> 24;
	while (at < n)
		bytes[at++] = prefixes[random_below(random, 8)];
	if (random_below(random, 2))
		bytes[at++] = 0x0f;
	if (random_below(random, 2)) /* of registers */
		bytes[at + 1] |= 0xc0;
	if (random_below(random, 4) == 0)
		bytes[0] = random_below(random, 2) ? 0xc4 : 0x62;
}

/* Whatever is allowed comes back, with rsp and memory of ours untouched. */
static void test_all_come_back(void **state)
{
	/* Not before: cmocka puts its own handlers in front of each test. */
	_cleanup_(execute_freep) struct execute *execute = NULL;
	struct native *native;
	struct random random = { 1764 };
	struct cpu cpu = { .xstate = aligned_alloc(64, XSTATE_MAX),
			   .xstate_size = XSTATE_MAX };
	unsigned done = 0;

	assert_non_null(cpu.xstate);
	assert_int_equal(execute_new(&execute), 0);
	native = execute_native(execute);
	for (unsigned i = 0; i < 400000; i++) {
		uint8_t bytes[INSN_BYTES];
		struct ahead_code code;
		struct insn insn;

		make(&random, bytes);
		if (insn_decode(bytes, sizeof(bytes), &insn) != 0 ||
		    !ahead_code(&insn, &code))
			continue;
		memset(cpu.xstate, 0, XSTATE_MAX);
		cpu.xstate[0] = 0x7f; /* exceptions are masked */
		cpu.xstate[1] = 0x03;
		cpu.xstate[24] = 0x80;
		cpu.xstate[25] = 0x1f;
		for (unsigned k = 0; k < REGISTERS; k++)
			register_set(&cpu.regs, k, random_next(&random));
		native_block(native, 0, code.bytes, insn.length);
		done += native_run_block(native, 0, &code.use, &cpu) ==
			EXECUTE_DONE;
	}
	print_message("%u ran\n", done);
	assert_true(done > 10000);
	free(cpu.xstate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_all_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
