/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call of live.h is made in two plain runs over different canary bytes,
 * which tells the bytes that the kernel writes; then again through a bounce
 * while its buffers are out of reach.  The plan and the outcome must agree
 * with what the kernel did.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/unit/live_run.h"

static void run(const struct world *world, const struct live_case *row,
		uint8_t fill, bool bounced, int guard, struct outcome *ret)
{
	int status = live_run(world, row, fill, bounced, guard, ret);

	if (status != 0)
		fail_msg("%s: a run ended with status %#x", row->name, status);
}

static bool in_use(const struct outcome *outcome, uint64_t addr)
{
	unsigned i;

	for (i = 0; i < outcome->count; i++) {
		const struct bounce_use *use = &outcome->uses[i];

		if ((use->direction & BUFFER_OUT) &&
		    addr - use->addr < use->size)
			return true;
	}

	return false;
}

static bool in_plan(const struct call_plan *plan, uint64_t addr)
{
	unsigned i;

	for (i = 0; i < plan->count; i++) {
		const struct buffer_use *use = &plan->buffer[i];

		if ((use->direction & BUFFER_OUT) &&
		    addr - use->addr < use->size)
			return true;
	}

	return false;
}

/* The buffer of the plan that a use is of: the smallest around it. */
static const struct buffer_use *buffer_of(const struct call_plan *plan,
					  const struct bounce_use *use)
{
	const struct buffer_use *found = NULL;
	unsigned i;

	for (i = 0; i < plan->count; i++) {
		const struct buffer_use *b = &plan->buffer[i];

		if ((b->direction & BUFFER_OUT) &&
		    use->addr - b->addr < b->size &&
		    (!found || b->size < found->size))
			found = b;
	}

	return found;
}

/* All bytes that the kernel writes in one of two plain runs are planned. */
static void check_plan(const struct world *world, const struct live_case *row)
{
	const struct outcome *a = world->plain[0], *b = world->plain[1];
	uint64_t i;

	for (i = 0; i < LIVE_ARENA; i++) {
		if (a->before[i] == a->after[i] && b->before[i] == b->after[i])
			continue;
		if (!in_plan(&a->plan, P(world->arena + i)))
			fail_msg("%s: byte %lu is written, not planned",
				 row->name, (unsigned long)i);
	}
}

/* Where we claim to know what was written, the kernel wrote all of it. */
static void check_claims(const struct world *world, const struct live_case *row)
{
	const struct outcome *a = world->plain[0], *b = world->plain[1];
	const struct outcome *c = world->bounced;
	unsigned k;

	if (row->flags & LIVE_HOLES)
		return;
	for (k = 0; k < c->count; k++) {
		const struct bounce_use *use = &c->uses[k];
		const struct buffer_use *buffer = buffer_of(&c->plan, use);
		uint64_t i, at = use->addr - P(world->arena);

		if (!(use->direction & BUFFER_OUT) ||
		    buffer->written == WRITTEN_COMPARE)
			continue;
		for (i = at; i < at + use->size; i++) {
			if (a->before[i] != b->before[i] &&
			    a->before[i] == a->after[i] &&
			    b->before[i] == b->after[i])
				fail_msg("%s: byte %lu of %lu at %lu was not "
					 "written",
					 row->name, (unsigned long)(i - at),
					 (unsigned long)use->size,
					 (unsigned long)at);
		}
	}
}

/* A bounced run ends as a plain one does, and told what it wrote. */
static void check_bounced(const struct world *world,
			  const struct live_case *row, int guard)
{
	const struct outcome *plain = world->plain[0], *b = world->bounced;
	bool same = !(row->flags & LIVE_CHANGES);
	uint64_t i;

	if (b->error || b->strayed)
		fail_msg("%s: error %d, strayed %d", row->name, b->error,
			 b->strayed);
	if (same ? b->result != plain->result
		 : (b->result < 0) != (plain->result < 0))
		fail_msg("%s: result %ld, plain %ld, guard %d", row->name,
			 (long)b->result, (long)plain->result, guard);

	for (i = 0; i < LIVE_ARENA; i++) {
		if (same && plain->after[i] != b->after[i])
			fail_msg("%s: byte %lu is %#x, plain %#x, guard %d",
				 row->name, (unsigned long)i, b->after[i],
				 plain->after[i], guard);
		if (guard == ALL && b->before[i] != b->after[i] &&
		    !in_use(b, P(world->arena + i)))
			fail_msg("%s: byte %lu changed, not told", row->name,
				 (unsigned long)i);
	}
}

/* The uses show what the program's memory held and holds. */
static void check_shown(const struct world *world, const struct live_case *row)
{
	const struct outcome *b = world->bounced;
	unsigned k;

	for (k = 0; k < b->count; k++) {
		const struct bounce_use *use = &b->uses[k];
		uint64_t at = use->addr - P(world->arena);

		assert_true(use->direction != 0 && use->size > 0);
		assert_int_equal(use->shown, min_u64(use->size, 64));
		if (memcmp(use->old, b->before + at, use->shown) != 0)
			fail_msg("%s: use %u: not the old bytes", row->name, k);
		if (memcmp(use->new, b->after + at, use->shown) != 0)
			fail_msg("%s: use %u: not the new bytes", row->name, k);
	}
}

static void check_case(const struct world *world, const struct live_case *row)
{
	unsigned i, count;

	run(world, row, 0x5a, false, ALL, world->plain[0]);
	run(world, row, 0xa5, false, ALL, world->plain[1]);
	if (world->plain[0]->result < 0 &&
	    !(row->flags & (LIVE_FAILS | LIVE_MAY_FAIL)))
		fail_msg("%s: %s", row->name,
			 strerror((int)-world->plain[0]->result));
	if (world->plain[0]->result < 0)
		print_message("%s: %s\n", row->name,
			      strerror((int)-world->plain[0]->result));
	assert_int_equal(world->plain[0]->plan.kind, CALL_BUFFERED);
	check_plan(world, row);

	run(world, row, 0x5a, true, ALL, world->bounced);
	check_bounced(world, row, ALL);
	check_claims(world, row);
	check_shown(world, row);
	assert_true(world->bounced->count > 0 || world->bounced->result < 0 ||
		    (row->flags & LIVE_MAY_FAIL));

	count = world->plain[0]->plan.count;
	for (i = 0; i < count; i++) {
		run(world, row, 0x5a, true, (int)i, world->bounced);
		check_bounced(world, row, (int)i);
	}
}

static void check_all(void **state, const struct live_cases *cases)
{
	struct world *world = *state;
	const char *only = getenv("LIVE_CASE");
	size_t i;

	for (i = 0; i < cases->count; i++) {
		if (!only || !strcmp(only, cases->rows[i].name))
			check_case(world, &cases->rows[i]);
	}
}

static void test_files(void **state)
{
	check_all(state, &live_files);
}

static void test_control(void **state)
{
	check_all(state, &live_control);
}

static void test_network(void **state)
{
	check_all(state, &live_network);
}

static void test_poll(void **state)
{
	check_all(state, &live_poll);
}

static void test_process(void **state)
{
	check_all(state, &live_process);
}

static void test_queues(void **state)
{
	check_all(state, &live_queues);
}

static void test_rare(void **state)
{
	check_all(state, &live_rare);
}

static void test_paths(void **state)
{
	check_all(state, &live_paths);
}

static void test_more(void **state)
{
	check_all(state, &live_more);
}

static void test_short(void **state)
{
	check_all(state, &live_short);
}

static void *shared(size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

static int set_up(void **state)
{
	static struct world world;

	world.arena = shared(LIVE_ARENA);
	world.plain[0] = shared(sizeof(struct outcome));
	world.plain[1] = shared(sizeof(struct outcome));
	world.bounced = shared(sizeof(struct outcome));
	*state = &world;

	return !world.arena || !world.plain[0] || !world.plain[1] ||
	       !world.bounced;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),	cmocka_unit_test(test_control),
		cmocka_unit_test(test_network), cmocka_unit_test(test_poll),
		cmocka_unit_test(test_process), cmocka_unit_test(test_queues),
		cmocka_unit_test(test_rare),	cmocka_unit_test(test_paths),
		cmocka_unit_test(test_more),	cmocka_unit_test(test_short),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
