/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/tally.h"

void tally_begin(struct scene *scene, uint64_t seed)
{
	int r = scene_new(scene, seed);

	if (r < 0) {
		print_message("ptrace: %s\n", strerror(-r));
		scene_done(scene);
		skip();
	}
}

static void show(const struct scene *scene, const char *what)
{
	char bytes[3 * INSN_BYTES + 1] = "";

	for (unsigned i = 0; i < scene->insn.length; i++)
		sprintf(bytes + 3 * i, " %02x", scene->insn.bytes[i]);
	print_error("%s%s (result %d, signal %d):%s\n", what, bytes,
		    scene->result, scene->signal, scene->text);
}

/* Branches and frames of 16 bits, nested frames. */
static bool may_decline(const struct insn *insn)
{
	if (insn->kind == INSN_STACK)
		return insn->operand16 || insn->opcode == 0xc8 ||
		       insn->opcode == 0xff || insn->opcode == 0x9d;
	return false;
}

void tally_judge(struct tally *tally, struct scene *scene)
{
	assert_true(scene->signal >= 0);
	tally->tries++;
	if (!scene_agrees(scene)) {
		if (tally->wrong++ < 20)
			show(scene, "differs:");
	} else if (scene->signal) {
		tally->faults++;
	} else if (scene->result == EXECUTE_DONE) {
		tally->done++;
	} else {
		tally->declined++;
		if (!may_decline(&scene->insn) && tally->wrong++ < 20)
			show(scene, "declined:");
	}
}

void tally_end(const struct tally *tally, struct scene *scene)
{
	print_message("%u tries, %u done, %u faults, %u declined\n",
		      tally->tries, tally->done, tally->faults,
		      tally->declined);
	scene_done(scene);
	assert_int_equal(tally->wrong, 0);
	assert_true(tally->done > tally->tries / 4);
}

unsigned tally_times(unsigned usual)
{
	const char *value = getenv("CLS_TEST_TIMES");

	return value ? usual * atoi(value) : usual;
}

uint64_t tally_seed(void)
{
	const char *value = getenv("CLS_TEST_SEED");

	return value ? atoi(value) : 1;
}
