/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tracer/guard/bounce.h"

/* The program's memory and the room, far apart. */
#define BASE UINT64_C(0x100000)
#define ROOM UINT64_C(0x900020)

enum {
	SIZE = 16384,
};

struct fake {
	uint8_t bytes[SIZE], room[SIZE];
	uint64_t fence, fence_end; /* guarded */
	unsigned writes;	   /* to the program */
	bool gone;
};

static uint8_t *locate(struct fake *fake, uint64_t addr, size_t size)
{
	if (addr >= BASE && size <= SIZE && addr - BASE <= SIZE - size)
		return fake->bytes + (addr - BASE);
	if (addr >= ROOM && size <= SIZE && addr - ROOM <= SIZE - size)
		return fake->room + (addr - ROOM);

	return NULL;
}

static int fake_read(void *context, uint64_t addr, void *buffer, size_t size)
{
	uint8_t *at = locate(context, addr, size);

	if (!at)
		return -EFAULT;
	memcpy(buffer, at, size);

	return 0;
}

static int fake_write(void *context, uint64_t addr, const void *buffer,
		      size_t size)
{
	struct fake *fake = context;
	uint8_t *at = locate(context, addr, size);

	if (fake->gone)
		return -ESRCH;
	if (!at)
		return -EFAULT;
	fake->writes += addr < ROOM;
	memcpy(at, buffer, size);

	return 0;
}

static bool guarded(void *context, uint64_t addr, uint64_t size)
{
	const struct fake *fake = context;

	return addr < fake->fence_end && fake->fence < addr + size;
}

/* A call with one buffer per argument, and how it is tested. */
struct bench {
	struct fake fake;
	struct memory memory;
	struct call call;
	struct call_plan plan;
	struct bounce bounce;
	struct bounce_use uses[CALL_BUFFERS];
	unsigned count;
};

static struct bench *set_bench(uint64_t fence, uint64_t fence_end)
{
	static struct bench bench;
	unsigned i;

	memset(&bench, 0, sizeof(bench));
	for (i = 0; i < SIZE; i++)
		bench.fake.bytes[i] = (uint8_t)(i * 7 + (i >> 8));
	bench.fake.fence = fence;
	bench.fake.fence_end = fence_end;
	bench.memory = (struct memory){ &bench.fake, fake_read, fake_write };
	bench.plan.kind = CALL_BUFFERED;

	return &bench;
}

static struct buffer_use *add(struct bench *b, uint64_t addr, uint64_t size,
			      uint8_t direction)
{
	unsigned i = b->plan.count++;

	b->call.args[i] = addr;
	b->plan.buffer[i] = (struct buffer_use){
		.addr = addr,
		.size = size,
		.direction = direction,
		.parent = -1,
		.place = i,
		.counter = -1,
		.unit = 1,
	};

	return &b->plan.buffer[i];
}

static int begin(struct bench *b)
{
	return bounce_begin(&b->bounce, &b->call, &b->plan, ROOM, guarded,
			    &b->fake, &b->memory);
}

static int end(struct bench *b, int64_t result)
{
	return bounce_end(&b->bounce, result, &b->memory, guarded, &b->fake,
			  b->uses, &b->count);
}

static uint8_t *room_of(struct bench *b, unsigned i)
{
	return locate(&b->fake, b->bounce.moved[i], 1);
}

static void test_nothing(void **state)
{
	struct bench *b = set_bench(BASE + 4096, BASE + 8192);

	add(b, BASE, 4096, BUFFER_OUT);
	assert_int_equal(bounce_room(&b->plan, guarded, &b->fake), 0);
	assert_int_equal(begin(b), 0);
	assert_int_equal(b->bounce.args[0], BASE);
	assert_int_equal(end(b, 5), 0);
	assert_int_equal(b->count, 0);
	assert_int_equal(b->fake.writes, 0);
	bounce_done(&b->bounce);
}

/* Addresses keep what is left of them by a line, or by a page if large. */
static void test_alignment(void **state)
{
	struct bench *b = set_bench(BASE, BASE + SIZE);
	uint64_t room;

	add(b, BASE + 13, 20, BUFFER_IN);
	add(b, BASE + 1000, 511, BUFFER_OUT);
	add(b, BASE + 3 * 512, 1024, BUFFER_OUT);
	room = bounce_room(&b->plan, guarded, &b->fake);
	assert_true(room > 20 + 511 + 1024 && room < SIZE);
	assert_int_equal(begin(b), 0);
	assert_int_equal((b->bounce.moved[0] - 13 - BASE) % 64, 0);
	assert_int_equal((b->bounce.moved[1] - 1000 - BASE) % 64, 0);
	assert_int_equal((b->bounce.moved[2] - 1536 - BASE) % 4096, 0);
	assert_true(b->bounce.moved[2] + 1024 <= ROOM + room);
	assert_memory_equal(room_of(b, 2), b->fake.bytes + 1536, 1024);
	bounce_done(&b->bounce);
}

/* Three buffers, of which the last joins the two first. */
static void test_overlap(void **state)
{
	struct bench *b = set_bench(BASE, BASE + 1);

	add(b, BASE, 16, BUFFER_IN);
	add(b, BASE + 32, 16, BUFFER_OUT)->written = WRITTEN_WHOLE;
	add(b, BASE + 8, 32, BUFFER_OUT);
	assert_int_equal(begin(b), 0);
	assert_int_equal(b->bounce.spans, 1);
	assert_int_equal(b->bounce.moved[1] - b->bounce.moved[0], 32);
	assert_int_equal(b->bounce.moved[2] - b->bounce.moved[0], 8);
	assert_int_equal(b->bounce.args[2], b->bounce.moved[2]);

	memset(room_of(b, 1), 0xee, 16);
	assert_int_equal(end(b, 0), 0);
	assert_int_equal(b->fake.bytes[31], (uint8_t)(31 * 7));
	assert_int_equal(b->fake.bytes[32], 0xee);
	assert_int_equal(b->fake.bytes[47], 0xee);
	bounce_done(&b->bounce);
}

/* Only what changed is written, where the kernel does not say more. */
static void test_changed(void **state)
{
	struct bench *b = set_bench(BASE, BASE + SIZE);

	add(b, BASE, 32, BUFFER_OUT);
	assert_int_equal(begin(b), 0);
	room_of(b, 0)[4] ^= 1;
	room_of(b, 0)[9] ^= 1;
	/* Another thread writes between and beside them. */
	b->fake.bytes[7] = 0x77;
	b->fake.bytes[20] = 0x78;
	assert_int_equal(end(b, 0), 0);
	assert_int_equal(b->fake.bytes[7], 0x77);
	assert_int_equal(b->fake.bytes[20], 0x78);
	assert_int_equal(b->fake.bytes[4], (4 * 7) ^ 1);
	assert_int_equal(b->fake.writes, 2);
	assert_int_equal(b->count, 1);
	assert_int_equal(b->uses[0].addr, BASE + 4);
	assert_int_equal(b->uses[0].size, 6);
	assert_int_equal(b->uses[0].old[0], 4 * 7);
	assert_int_equal(b->uses[0].new[0], (4 * 7) ^ 1);
	bounce_done(&b->bounce);
}

/* A read that was short, and one that failed. */
static void test_result(void **state)
{
	struct bench *b = set_bench(BASE, BASE + SIZE);

	add(b, BASE, 100, BUFFER_OUT)->written = WRITTEN_RESULT;
	assert_int_equal(begin(b), 0);
	assert_int_equal(end(b, 5), 0);
	assert_int_equal(b->count, 1);
	assert_int_equal(b->uses[0].size, 5);
	assert_int_equal(b->uses[0].direction, BUFFER_OUT);
	assert_int_equal(end(b, -EAGAIN), 0);
	assert_int_equal(b->count, 0);
	/* It failed, but not without writing. */
	room_of(b, 0)[50] ^= 1;
	assert_int_equal(end(b, -EINTR), 0);
	assert_int_equal(b->count, 1);
	assert_int_equal(b->uses[0].addr, BASE + 50);
	bounce_done(&b->bounce);
}

/* What is read is told unless the call did not come so far. */
static void test_read(void **state)
{
	struct bench *b = set_bench(BASE, BASE + SIZE);

	add(b, BASE, 16, BUFFER_IN)->written = WRITTEN_WHOLE;
	assert_int_equal(begin(b), 0);
	assert_int_equal(end(b, -ENOENT), 0);
	assert_int_equal(b->count, 1);
	assert_int_equal(b->uses[0].direction, BUFFER_IN);
	assert_int_equal(b->uses[0].shown, 16);
	assert_int_equal(end(b, -EFAULT), 0);
	assert_int_equal(b->count, 0);
	assert_int_equal(end(b, -512), 0);
	assert_int_equal(b->count, 0);
	assert_int_equal(b->fake.writes, 0);
	bounce_done(&b->bounce);
}

/* A guarded child moves its parent, whose copy points to the child's. */
static void test_parent(void **state)
{
	struct bench *b = set_bench(BASE + 4096, BASE + 4097);
	uint64_t child = BASE + 4096, word;

	memcpy(b->fake.bytes + 8, &child, 8);
	add(b, BASE, 24, BUFFER_IN | BUFFER_OUT);
	*add(b, child, 10, BUFFER_OUT) = (struct buffer_use){
		.addr = child,
		.size = 10,
		.direction = BUFFER_OUT,
		.parent = 0,
		.place = 8,
		.counter = -1,
		.written = WRITTEN_WHOLE,
	};
	assert_int_equal(begin(b), 0);
	assert_true(b->bounce.moved[0] != 0);
	assert_int_equal(b->bounce.args[0], b->bounce.moved[0]);
	memcpy(&word, room_of(b, 0) + 8, 8);
	assert_int_equal(word, b->bounce.moved[1]);

	room_of(b, 0)[16] ^= 1;
	assert_int_equal(end(b, 0), 0);
	memcpy(&word, b->fake.bytes + 8, 8);
	assert_int_equal(word, child);
	assert_int_equal(b->fake.bytes[16], (16 * 7) ^ 1);
	/* The parent was moved, but is not watched. */
	assert_int_equal(b->count, 1);
	assert_int_equal(b->uses[0].addr, child);
	bounce_done(&b->bounce);
}

static void test_failures(void **state)
{
	struct bench *b = set_bench(BASE, BASE + 2 * SIZE);

	/* It leaves the program's memory. */
	add(b, BASE + SIZE - 8, 16, BUFFER_OUT);
	assert_int_equal(begin(b), -EFAULT);
	assert_int_equal(b->bounce.args[0], b->call.args[0]);
	assert_int_equal(b->bounce.moved[0], 0);
	bounce_done(&b->bounce);

	b = set_bench(BASE, BASE + SIZE);
	add(b, BASE, 16, BUFFER_OUT)->written = WRITTEN_WHOLE;
	b->fake.gone = true;
	assert_int_equal(begin(b), -ESRCH);
	b->fake.gone = false;
	assert_int_equal(begin(b), 0);
	b->fake.gone = true;
	assert_int_equal(end(b, 0), -ESRCH);
	bounce_done(&b->bounce);
	bounce_done(&b->bounce);
}

static void test_large(void **state)
{
	struct bench *b = set_bench(BASE, BASE + SIZE);

	add(b, BASE, UINT64_C(1) << 30, BUFFER_IN);
	assert_true(bounce_room(&b->plan, guarded, &b->fake) > 1 << 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_result),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_parent),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
