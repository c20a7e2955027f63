/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tracer/event/record.h"

static const struct timespec now = { 1764438012, 123456789 };

static const uint8_t one[EVENT_SHOWN] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
static const uint8_t two[EVENT_SHOWN] = { 0xff, 0xee, 0xdd, 0xcc,
					  0xbb, 0xaa, 0x99, 0x88 };

static struct event_access an_access(uint64_t seq)
{
	return (struct event_access){
		.seq = seq,
		.insn_seq = 40,
		.time = now,
		.pid = 812,
		.tid = 815,
		.comm = "worker",
		.op = EVENT_WRITE,
		.addr = 0x55d0c01f2a48,
		.size = 8,
		.count = 1,
		.ip = 0x55d0bfe0113a,
		.insn = "mov qword ptr [rdi + 0x18], rax",
		.how = "native",
		.shown = 8,
		.old = one,
		.new = two,
		.component = { .kind = "object",
			       .runtime = "c++",
			       .name = "Order",
			       .member = "state",
			       .how = "vtable",
			       .confidence = "exact",
			       .start = 0x55d0c01f2a30,
			       .size = 64,
			       .offset = 24 },
	};
}

static void contains(const char *line, const char *text)
{
	if (!strstr(line, text))
		fail_msg("no %s in %s", text, line);
}

static void contains_no(const char *line, const char *text)
{
	if (strstr(line, text))
		fail_msg("%s in %s", text, line);
}

/* The line of @access, without its newline, in @out. */
static const char *access_line(struct buffer *out,
			       const struct event_access *access)
{
	struct record_memo memo = { 0 };

	buffer_clear(out);
	record_access(out, access, &memo);
	assert_false(out->failed);
	assert_int_equal(out->data[out->size - 1], '\n');
	out->data[out->size - 1] = '\0';
	record_memo_done(&memo);
	return out->data;
}

static void test_a_remembered_component(void **state)
{
	static const struct event_component components[] = {
		{ "global", "c", "a", NULL, "symbol", "exact", 0x10, 8, 1 },
		{ "global", "c", "a", NULL, "symbol", "exact", 0x10, 8, 2 },
		{ "global", "c", "b", NULL, "symbol", "exact", 0x10, 8, 2 },
		{ "global", "c", "b", "m", "symbol", "exact", 0x10, 8, 2 },
		{ "global", "c", "b", "n", "symbol", "exact", 0x10, 8, 2 },
		{ "global", "c", "b", "n", "symbol", "likely", 0x10, 8, 2 },
		{ "global", "c", "b", "n", "chunk", "likely", 0x10, 8, 2 },
		{ "object", "c", "b", "n", "chunk", "likely", 0x10, 8, 2 },
		{ "object", "c++", "b", "n", "chunk", "likely", 0x10, 8, 2 },
		{ "object", "c++", "b", "n", "chunk", "likely", 0, 8, 2 },
		{ "object", "c++", "b", "n", "chunk", "likely", 0, 0, 2 },
		{ .kind = NULL },
		{ "object", "c++", NULL, "n", "chunk", "likely", 0, 0, 2 },
	};
	_cleanup_(buffer_done) struct buffer fresh = { 0 }, kept = { 0 };
	struct record_memo memo = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(components); i++) {
		const struct event_access access = {
			.component = components[i],
		};

		buffer_clear(&kept);
		record_access(&kept, &access, &memo);
		kept.data[kept.size - 1] = '\0';
		assert_string_equal(access_line(&fresh, &access), kept.data);
	}
	record_memo_done(&memo);
}

static void test_a_whole_access(void **state)
{
	const struct event_frame frames[] = {
		{ 0x55d0bfe0113a, "Order::advance()", 26, false, "shop", NULL,
		  0, NULL, false },
		{ 0x10, NULL, 99, false, NULL, NULL, 0, NULL, false },
	};
	struct event_access access = an_access(17);
	_cleanup_(buffer_done) struct buffer out = { 0 };
	_cleanup_(buffer_done) struct buffer stack = { 0 };

	record_frames(&stack, frames, ARRAY_SIZE(frames), "broken");
	access.stack_text = &stack;
	assert_string_equal(
		access_line(&out, &access),
		"{\"type\":\"access\",\"seq\":17,\"insn_seq\":40,"
		"\"time\":\"1764438012.123456789\",\"pid\":812,\"tid\":815,"
		"\"comm\":\"worker\",\"op\":\"write\","
		"\"addr\":\"0x55d0c01f2a48\",\"size\":8,"
		"\"ip\":\"0x55d0bfe0113a\","
		"\"insn\":\"mov qword ptr [rdi + 0x18], rax\","
		"\"old\":\"0x0807060504030201\","
		"\"new\":\"0x8899aabbccddeeff\",\"by\":\"user\","
		"\"how\":\"native\",\"component\":{\"kind\":\"object\","
		"\"runtime\":\"c++\",\"class\":\"Order\","
		"\"member\":\"state\",\"start\":\"0x55d0c01f2a30\","
		"\"offset\":24,\"size\":64,\"how\":\"vtable\","
		"\"confidence\":\"exact\"},\"stack\":["
		"{\"ip\":\"0x55d0bfe0113a\","
		"\"function\":\"Order::advance()\",\"offset\":26,"
		"\"module\":\"shop\"},{\"ip\":\"0x10\"}],"
		"\"stack_end\":\"broken\"}");
}

static void test_values(void **state)
{
	static const struct {
		uint64_t size;
		uint32_t shown;
		const char *old; /* as it stands in the line */
		bool cut;
	} cases[] = {
		{ 1, 1, "\"old\":\"0x01\"", false },
		{ 2, 2, "\"old\":\"0x0201\"", false },
		{ 3, 3, "\"old\":\"010203\"", false },
		{ 4, 4, "\"old\":\"0x04030201\"", false },
		{ 5, 5, "\"old\":\"0102030405\"", false },
		{ 8, 8, "\"old\":\"0x0807060504030201\"", false },
		{ 8, 4, "\"old\":\"01020304\"", true },
		{ 9, 8, "\"old\":\"0102030405060708\"", true },
		{ 9, 9, "\"old\":\"010203040506070809\"", false },
		{ 2, 9, "\"old\":\"0x0201\"", false },
		{ UINT64_MAX, 1, "\"old\":\"01\"", true },
	};
	_cleanup_(buffer_done) struct buffer out = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct event_access access = an_access(1);
		const char *line;

		access.size = cases[i].size;
		access.shown = cases[i].shown;
		line = access_line(&out, &access);
		contains(line, cases[i].old);
		assert_int_equal(!!strstr(line, "\"cut\":true"), cases[i].cut);
	}
}

/* The arrays have EVENT_SHOWN bytes, whatever the length says. */
static void test_long_values_are_cut(void **state)
{
	struct event_access access = an_access(1);
	_cleanup_(buffer_done) struct buffer out = { 0 };
	const char *line, *old;

	access.size = 4096;
	access.shown = 4096;
	line = access_line(&out, &access);
	old = strstr(line, "\"old\":\"0102");
	assert_non_null(old);
	assert_int_equal(strcspn(old + 7, "\""), 2 * EVENT_SHOWN);
	contains(line, "\"cut\":true");
}

static void test_what_is_left_out(void **state)
{
	static const char *const absent[] = { "comm",	   "count", "insn",
					      "bytes",	   "old",   "new",
					      "cut",	   "how",   "name",
					      "component", "stack", "stack_end",
					      "syscall" };
	struct event_access access = {
		.seq = 1, .op = EVENT_READ, .pid = 1, .tid = 1, .size = 1
	};
	_cleanup_(buffer_done) struct buffer out = { 0 };
	const char *line = access_line(&out, &access);

	contains(line, "\"by\":\"user\"");
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++) {
		char key[32];

		snprintf(key, sizeof(key), "\"%s\":", absent[i]);
		contains_no(line, key);
	}
}

static void test_a_read_has_old_only(void **state)
{
	struct event_access access = an_access(1);
	_cleanup_(buffer_done) struct buffer out = { 0 };
	const char *line;

	access.op = EVENT_READ;
	line = access_line(&out, &access);
	contains(line, "\"op\":\"read\"");
	contains(line, "\"old\":\"0x0807060504030201\"");
	contains_no(line, "\"new\":");

	access.op = EVENT_RW;
	line = access_line(&out, &access);
	contains(line, "\"op\":\"rw\"");
	contains(line, "\"old\":");
	contains(line, "\"new\":");
}

static void test_other_forms(void **state)
{
	static const uint8_t code[20] = { 0x0f, 0xa7, 0xc0 };
	struct event_access access = an_access(1);
	_cleanup_(buffer_done) struct buffer stack = { 0 };
	_cleanup_(buffer_done) struct buffer out = { 0 };
	const char *line;

	access.insn = NULL;
	access.bytes = code;
	access.nbytes = 3;
	access.how = "step";
	access.count = 12;
	access.component.kind = "global";
	record_frames(&stack, NULL, 0, NULL);
	access.stack_text = &stack;
	line = access_line(&out, &access);
	contains(line, "\"bytes\":\"0fa7c0\"");
	contains_no(line, "\"insn\":");
	contains(line, "\"how\":\"step\"");
	contains(line, "\"count\":12,");
	contains(line, "\"name\":\"Order\"");
	contains_no(line, "\"class\":");
	contains(line, "\"stack\":[]}");

	access.nbytes = sizeof(code);
	contains(access_line(&out, &access),
		 "\"bytes\":\"0fa7c0000000000000000000000000\"");

	access.syscall = "read";
	access.how = NULL;
	line = access_line(&out, &access);
	contains(line, "\"by\":\"kernel\",\"syscall\":\"read\",\"component\"");

	access.how = "compared";
	contains(access_line(&out, &access),
		 "\"syscall\":\"read\",\"how\":\"compared\"");
}

static void test_killed_or_exited(void **state)
{
	static const struct {
		const char *end;
		int status;
		const char *says;
	} cases[] = {
		{ "exited", 3, "\"end\":\"exited\",\"status\":3}" },
		{ "killed", 11, "\"end\":\"killed\",\"signal\":11}" },
		{ "detached", -1, "\"end\":\"detached\"}" },
		{ "max-events", 0, "\"end\":\"max-events\",\"status\":0}" },
	};
	_cleanup_(buffer_done) struct buffer out = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct event_summary summary = { .time = now,
						 .end = cases[i].end,
						 .status = cases[i].status };

		buffer_clear(&out);
		record_summary(&out, &summary);
		buffer_char(&out, '\0');
		contains(out.data, cases[i].says);
		contains_no(out.data, "\"overhead\":");
	}
}

static void test_stack(void **state)
{
	const struct event_frame frames[] = {
		{ 0x10, "f", 7, true, "m", "f.c", 12, NULL, false },
		{ 0x10, "g", 7, false, "m", "g.c", 0, NULL, false },
	};
	_cleanup_(buffer_done) struct buffer text = { 0 };
	_cleanup_(buffer_done) struct buffer out = { 0 };
	struct event_stack stack = { .id = 3, .pid = 4, .text = &text };

	record_frames(&text, frames, ARRAY_SIZE(frames), "broken");
	record_stack(&out, &stack);
	buffer_char(&out, '\0');
	assert_string_equal(
		out.data,
		"{\"type\":\"stack\",\"id\":3,\"pid\":4,\"stack\":["
		"{\"ip\":\"0x10\",\"function\":\"f\",\"inlined\":true,"
		"\"module\":\"m\",\"file\":\"f.c\",\"line\":12},"
		"{\"ip\":\"0x10\",\"function\":\"g\",\"offset\":7,"
		"\"module\":\"m\",\"file\":\"g.c\"}],"
		"\"stack_end\":\"broken\"}\n");
}

static void test_runtime(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const some[] = { "classes", "members", NULL };
	static const char *const rest[] = { "objects", "frames", NULL };
	struct event_runtime runtime = {
		.pid = 812,
		.name = "ruby",
		.version = "3.1.2",
		.how = "module",
		.module = "/usr/lib/libruby.so",
		.tells = some,
		.lacks = rest,
		.reason = "",
	};
	_cleanup_(buffer_done) struct buffer out = { 0 };

	record_runtime(&out, &runtime, &now);
	buffer_char(&out, '\0');
	contains(out.data,
		 "\"pid\":812,\"name\":\"ruby\",\"version\":\"3.1.2\","
		 "\"how\":\"module\",\"module\":\"/usr/lib/libruby.so\","
		 "\"tells\":[\"classes\",\"members\"],"
		 "\"lacks\":[\"objects\",\"frames\"]}\n");

	buffer_clear(&out);
	runtime.tells = none;
	runtime.version = "";
	runtime.reason = "too old";
	record_runtime(&out, &runtime, &now);
	buffer_char(&out, '\0');
	contains(out.data, "\"tells\":[],");
	contains(out.data, "\"reason\":\"too old\"}");
	contains_no(out.data, "\"version\"");
}

static void test_a_frame_of_a_runtime(void **state)
{
	const struct event_frame frames[] = {
		{ .ip = 0x10,
		  .function = "Order.total",
		  .offset = 7,
		  .file = "/srv/order.py",
		  .line = 31,
		  .runtime = "cpython" },
		{ .ip = 0x10, .function = "eval", .offset = 7 },
	};
	_cleanup_(buffer_done) struct buffer text = { 0 };

	record_frames(&text, frames, ARRAY_SIZE(frames), NULL);
	buffer_char(&text, '\0');
	assert_string_equal(
		text.data,
		",\"stack\":[{\"ip\":\"0x10\",\"function\":\"Order.total\","
		"\"runtime\":\"cpython\",\"file\":\"/srv/order.py\","
		"\"line\":31},{\"ip\":\"0x10\",\"function\":\"eval\","
		"\"offset\":7}]");
}

static void test_stacks_are_counted(void **state)
{
	struct event_stacks stacks = { .walked = 3,
				       .fresh = 7,
				       .reused = 20,
				       .rules = 5,
				       .reads = 4,
				       .mean = 0.5 };
	struct event_summary summary = { .time = now, .end = "exited" };
	_cleanup_(buffer_done) struct buffer out = { 0 };

	record_summary(&out, &summary);
	buffer_char(&out, '\0');
	contains_no(out.data, "\"stacks\":");

	buffer_clear(&out);
	summary.stacks = &stacks;
	record_summary(&out, &summary);
	buffer_char(&out, '\0');
	contains(out.data, "\"stacks\":{\"walked\":3,\"fresh\":7,\"reused\":20,"
			   "\"by_libunwind\":0,\"rules\":5,\"reads\":4,"
			   "\"mean\":0.5");
	contains_no(out.data, "\"mismatches\":");

	buffer_clear(&out);
	stacks.verify = true;
	record_summary(&out, &summary);
	buffer_char(&out, '\0');
	contains(out.data, "\"mismatches\":0}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_access),
		cmocka_unit_test(test_a_remembered_component),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_long_values_are_cut),
		cmocka_unit_test(test_what_is_left_out),
		cmocka_unit_test(test_a_read_has_old_only),
		cmocka_unit_test(test_other_forms),
		cmocka_unit_test(test_killed_or_exited),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_runtime),
		cmocka_unit_test(test_a_frame_of_a_runtime),
		cmocka_unit_test(test_stacks_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
