/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tracer/event/log.h"
#include "tracer/event/record.h"

static const struct timespec now = { 1764438012, 123456789 };

static const uint8_t bytes[EVENT_SHOWN] = { 0x0f, 0xa7, 0xc0 };

static void log_header(struct buffer *out)
{
	record_header(out,
		      &(struct event_header){
			      .version = "0.1",
			      .command = (const char *const[]){ "clsrun", "-w",
								"", NULL },
			      .pid = 812,
			      .executable = "/bin/\xff",
			      .host = "box",
			      .start = now,
			      .on = "all",
			      .policy = "sample",
			      .hz = 97.5,
			      .stacks = true,
			      .syscalls = "ptrace" });
	record_armed(out,
		     &(struct event_armed){
			     .pid = 812,
			     .state = "pending",
			     .pending = (const char *const[]){ "class:Order" },
			     .npending = 1 },
		     &now);
}

static void log_armed(struct buffer *out)
{
	const struct event_range ranges[] = {
		{ "counter", 0x1000, 0x1004, "counter", NULL },
		{ NULL, 0x7ff000, UINT64_C(1) << 47, "[stack]", "a stack" },
		{ "0x0..0x1", 0, 1, NULL, "nothing is mapped there" },
	};

	record_armed(
		out,
		&(struct event_armed){ .pid = 812,
				       .state = "armed",
				       .ranges = ranges,
				       .nranges = ARRAY_SIZE(ranges),
				       .pages = 1,
				       .blind = (const char *const[]){ "x" },
				       .nblind = 1,
				       .self_test = "seen" },
		&now);
}

static void log_accesses(struct buffer *out)
{
	static const struct event_frame frames[] = {
		{ 1, "f", 0, false, "m", "f.c", 1, NULL, false },
		{ 2, NULL, 0, false, "m", NULL, 0, NULL, false },
		{ 3, "", 3, false, "", "", 0, NULL, false }
	};
	_cleanup_(buffer_done) struct buffer stack = { 0 };
	struct record_memo memo = { 0 };
	struct event_access access = {
		.seq = 1,
		.time = now,
		.pid = 812,
		.tid = 815,
		.comm = "worker",
		.op = EVENT_WRITE,
		.addr = 0x55d0c01f2a48,
		.size = 8,
		.insn = "mov qword ptr [rdi + 0x18], rax",
		.how = "native",
		.shown = 8,
		.old = bytes,
		.new = bytes,
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

	record_access(out, &access, &memo);
	access.seq++;
	access.op = EVENT_READ;
	access.size = UINT64_MAX;
	access.insn = NULL;
	access.bytes = bytes;
	access.nbytes = 15;
	access.comm = "\xc3(\x1b[0m\"\\\xed\xa0\x80";
	access.component.kind = "file";
	access.component.start = 0;
	access.component.size = 0;
	record_access(out, &access, &memo);
	access.seq++;
	access.syscall = "read";
	access.how = "compared";
	access.bytes = NULL;
	access.component.kind = NULL;
	record_frames(&stack, frames, ARRAY_SIZE(frames), "truncated");
	access.stack_text = &stack;
	record_access(out, &access, &memo);
	record_memo_done(&memo);
}

static void log_rest(struct buffer *out)
{
	const struct event_count unseen[] = { { "io_uring", 2 }, { "x", 0 } };
	const struct event_class_count classes[] = {
		{ "object", "Order", "write", 1 },
		{ "file", "/etc/\xff", "read", 1 },
		{ NULL, NULL, "read", 1 },
	};

	record_closed(out, 812, 0x1000, 0x2000, "unmapped", &now);
	record_exec(out, 812, "/bin/true", &now);
	record_exec(out, 812, NULL, &now);
	record_fork(out, 812, 813, "vfork", &now);
	record_signal(out, 812, 815, 11, UINT64_MAX, 0, &now);
	record_unexplained(out, 812, 0x1000, 65, (uint8_t[65]){ 0 },
			   (uint8_t[65]){ 1 }, &now);
	record_warning(out, "class:Order never came", &now);
	record_summary(out,
		       &(struct event_summary){ .time = now,
						.events = 3,
						.performed = 2,
						.kernel = 1,
						.unseen = unseen,
						.nunseen = ARRAY_SIZE(unseen),
						.classes = classes,
						.nclasses = ARRAY_SIZE(classes),
						.classes_left_off = 7,
						.wall = 2.5,
						.stopped = 0.1,
						.end = "exited",
						.status = 255 });
}

static void write_log(struct buffer *out)
{
	log_header(out);
	log_armed(out);
	log_accesses(out);
	log_rest(out);
	assert_false(out->failed);
}

/* The validator's exit status; its sentences in @said. */
static int validate(const struct buffer *log, char *said, size_t size)
{
	const char *root = getenv("SOURCE_ROOT");
	char path[] = "/tmp/test_record.XXXXXX";
	int fd = mkstemp(path);
	char command[512];
	size_t length;
	FILE *pipe;
	int status;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, log->data, log->size), log->size);
	close(fd);
	snprintf(command, sizeof(command),
		 "/usr/bin/python3 %s/tests/validate.py %s 2>&1",
		 root ? root : ".", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	length = fread(said, 1, size - 1, pipe);
	said[length] = '\0';
	status = pclose(pipe);
	unlink(path);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_a_log_is_valid(void **state)
{
	_cleanup_(buffer_done) struct buffer out = { 0 };
	char said[4096];
	int status;

	write_log(&out);
	status = validate(&out, said, sizeof(said));
	if (status != 0)
		fail_msg("status %d: %s", status, said);
	assert_string_equal(said, "");
}

/* Replace the first @from in @log. */
static void replace(struct buffer *log, const char *from, const char *to)
{
	char *found = memmem(log->data, log->size, from, strlen(from));
	struct buffer changed = { 0 };
	size_t before;

	assert_non_null(found);
	before = (size_t)(found - log->data);
	buffer_append(&changed, log->data, before);
	buffer_string(&changed, to);
	buffer_append(&changed, found + strlen(from),
		      log->size - before - strlen(from));
	buffer_done(log);
	*log = changed;
}

/* A validator that accepts everything would be no test of the above. */
static void test_the_validator_sees_faults(void **state)
{
	static const struct {
		const char *from, *to, *says;
	} cases[] = {
		{ "\"seq\":2", "\"seq\":4", "seq is 4 after 1" },
		{ "\"seq\":1,", "\"seq\":1,\"seq\":1,", "stands twice" },
		{ "\"seq\":1,", "\"new_key\":1,\"seq\":1,", "new_key" },
		{ "\"op\":\"write\"", "\"op\":null", "None is not one of" },
		{ "\"addr\":\"0x5", "\"addr\":\"5", "does not match" },
		{ "\"op\":\"write\"", "\"op\":\"read\"", "access: new" },
		{ "\"by\":\"user\"", "\"by\":\"kernel\"", "syscall" },
		{ "\"size\":8", "\"size\":-8", "less than the minimum" },
		{ "\"class\":", "\"name\":", "access: component.name" },
		{ "\"kind\":\"object\"", "\"kind\":\"thing\"", "thing" },
		{ "\"hz\":97.5,", "", "'hz' is a required property" },
		{ "\"hz\":97.5,", "\"hz\":NaN,", "NaN is not JSON" },
		{ "\"schema\":1", "\"schema\":2", "1 was expected" },
		{ "\"type\":\"header\"", "\"type\":\"head\"", "first line" },
		{ "\"type\":\"fork\"", "\"type\":\"spoon\"", "type \"spoon\"" },
		{ "\"type\":\"summary\"", "\"type\":\"sum\"", "not a summary" },
		{ "\"events\":3", "\"events\":2", "tells of 2 events" },
		{ "\"comm\":\"worker\"", "\"comm\":\"\xff\"", "utf-8" },
		{ "\"status\":255}\n", "\"status\":255}", "cut off" },
		{ "\"status\":255}\n", "\"status\":255}\n{}\n", "type null" },
		{ "\"status\":255}\n", "\"status\":255}\n\n", "line 15" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(buffer_done) struct buffer out = { 0 };
		char said[4096];

		write_log(&out);
		replace(&out, cases[i].from, cases[i].to);
		assert_int_equal(validate(&out, said, sizeof(said)), 1);
		if (!strstr(said, cases[i].says))
			fail_msg("no '%s' in: %s", cases[i].says, said);
	}
}

static void test_an_empty_log_is_a_fault(void **state)
{
	const struct buffer none = { .data = (char[]){ "" } };
	char said[256];

	assert_int_equal(validate(&none, said, sizeof(said)), 1);
	assert_non_null(strstr(said, "the log is empty"));
}

/* How many bytes lie in the pipe. */
static int waiting(int fd)
{
	int size = -1;

	assert_int_equal(ioctl(fd, FIONREAD, &size), 0);
	return size;
}

static void test_a_reader_has_it_after_the_stop(void **state)
{
	char path[32], line[] = "0123456789\n";
	struct error err;
	struct log log;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	assert_int_equal(log_open(&log, path, NULL, &err), 0);
	for (unsigned i = 0; i < 2; i++) {
		buffer_string(&log.buffer, line);
		log_line(&log);
	}
	assert_int_equal(waiting(ends[0]), 0);
	log_settle(&log);
	assert_int_equal(waiting(ends[0]), 2 * strlen(line));
	log_done(&log);
	close(ends[0]);
	close(ends[1]);
}

/* Many pieces, in their order. */
static void test_a_long_file_is_whole(void **state)
{
	enum { LINES = 200000 };
	char path[] = "/tmp/cls-test-log-XXXXXX", line[32];
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "r");
	struct error err;
	struct log log;

	assert_non_null(file);
	assert_int_equal(log_open(&log, path, NULL, &err), 0);
	for (unsigned i = 0; i < LINES; i++) {
		buffer_format(&log.buffer, "%u\n", i);
		log_line(&log);
		if (i == LINES / 2)
			log_flush(&log);
	}
	log_done(&log);
	for (unsigned i = 0; i < LINES; i++) {
		assert_non_null(fgets(line, sizeof(line), file));
		assert_int_equal(atoi(line), i);
	}
	assert_null(fgets(line, sizeof(line), file));
	fclose(file);
	unlink(path);
}

/* What /dev/full says is known once the next piece is to be written. */
static void test_a_full_disk_is_told(void **state)
{
	struct error err;
	struct log log;

	assert_int_equal(log_open(&log, "/dev/full", NULL, &err), 0);
	log.direct = false; /* as a file */
	for (unsigned i = 0; i < 100000 && !log.gone; i++) {
		buffer_string(&log.buffer, "0123456789\n");
		log_line(&log);
	}
	assert_true(log.gone);
	assert_int_equal(log.number, -ENOSPC);
	log_done(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_reader_has_it_after_the_stop),
		cmocka_unit_test(test_a_long_file_is_whole),
		cmocka_unit_test(test_a_full_disk_is_told),
		cmocka_unit_test(test_a_log_is_valid),
		cmocka_unit_test(test_the_validator_sees_faults),
		cmocka_unit_test(test_an_empty_log_is_a_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
