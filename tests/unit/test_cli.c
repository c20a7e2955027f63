/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "cmd/choice.h"
#include "cmd/value.h"
#include "disasm/access.h"
#include "tracer/component/component.h"

/* execve(2) has no const either. */
#define LINE(...) ((char **)(const char *[]){ __VA_ARGS__, NULL })

static int parse(struct cli *cli, enum cli_command command, char **argv,
		 struct error *err)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return cli_parse(cli, command, argc, argv, err);
}

static void test_defaults(void **state)
{
	_cleanup_(cli_done) struct cli cli = { 0 };
	char **argv = LINE("clsrun", "prog", "-o", "x");

	assert_int_equal(parse(&cli, CLI_RUN, argv, NULL), 0);
	assert_int_equal(cli.options.nwatches, 0);
	assert_int_equal(cli.options.on, ACCESS_RW);
	assert_int_equal(cli.options.policy, POLICY_DEFAULT);
	assert_int_equal(cli.options.depth, CLI_DEPTH);
	assert_false(cli.options.stacks);
	assert_int_equal(cli.options.max_events, 0);
	assert_true(cli.options.duration == 0);
	assert_null(cli.options.output);
	assert_ptr_equal(cli.options.command_line, argv);
	/* The program's own options are its own. */
	assert_ptr_equal(cli.program, argv + 1);
}

static void test_all(void **state)
{
	_cleanup_(cli_done) struct cli cli = { 0 };
	char **argv = LINE("clsrun", "-wcounter", "-w", "0x1000+8", "--on",
			   "write", "--sample=12.5", "--stacks=inline",
			   "--depth", "7", "-o", "log", "--max-events=9",
			   "--duration", "1.5m", "-vvq", "--", "--help");

	assert_int_equal(parse(&cli, CLI_RUN, argv, NULL), 0);
	assert_int_equal(cli.options.nwatches, 2);
	assert_string_equal(cli.options.watches[0], "counter");
	assert_string_equal(cli.options.watches[1], "0x1000+8");
	assert_int_equal(cli.options.on, ACCESS_WRITE);
	assert_int_equal(cli.options.policy, POLICY_SAMPLE);
	assert_true(cli.options.hz == 12.5);
	assert_true(cli.options.stacks);
	assert_int_equal(cli.options.depth, 7);
	assert_string_equal(cli.options.output, "log");
	assert_int_equal(cli.options.max_events, 9);
	assert_true(cli.options.duration == 90);
	assert_int_equal(cli.options.verbose, 1);
	assert_string_equal(cli.program[0], "--help");
}

static void test_attach(void **state)
{
	_cleanup_(cli_done) struct cli cli = { 0 };

	assert_int_equal(parse(&cli, CLI_ATTACH,
			       LINE("clsattach", "-k", "-p", "812", "--every"),
			       NULL),
			 0);
	assert_int_equal(cli.pid, 812);
	assert_true(cli.options.stacks);
	assert_int_equal(cli.options.policy, POLICY_EVERY);
	assert_false(cli.options.no_run_ahead);
}

static void test_verify_stacks(void **state)
{
	_cleanup_(cli_done) struct cli cli = { 0 };

	assert_int_equal(parse(&cli, CLI_RUN,
			       LINE("clsrun", "--verify-stacks", "x"), NULL),
			 0);
	assert_true(cli.options.stacks);
	assert_true(cli.options.verify_stacks);
	assert_int_equal(cli.options.stacks_form, STACKS_BY_LOG);
}

static void test_samples(void **state)
{
	_cleanup_(cli_done) struct cli cli = { 0 }, wrong = { 0 };

	assert_int_equal(
		parse(&cli, CLI_RUN, LINE("clsrun", "-F", "99", "x"), NULL), 0);
	assert_true(cli.options.stack_hz == 99);
	assert_true(cli.options.stacks);
	assert_int_not_equal(
		parse(&wrong, CLI_RUN, LINE("clsrun", "-F", "1001", "x"), NULL),
		0);
}

static void test_stacks_once(void **state)
{
	_cleanup_(cli_done) struct cli cli = { 0 };

	assert_int_equal(parse(&cli, CLI_RUN,
			       LINE("clsrun", "-k", "--stacks=id",
				    "--verify-stacks", "x"),
			       NULL),
			 0);
	assert_true(cli.options.stacks);
	assert_int_equal(cli.options.stacks_form, STACKS_ONCE);
}

static void test_no_run_ahead(void **state)
{
	_cleanup_(cli_done) struct cli cli = { 0 };

	assert_int_equal(parse(&cli, CLI_RUN,
			       LINE("clsrun", "--every", "--no-run-ahead", "x"),
			       NULL),
			 0);
	assert_true(cli.options.no_run_ahead);
	assert_false(cli.options.no_syscalls);
}

static void test_no_syscalls(void **state)
{
	_cleanup_(cli_done) struct cli cli = { 0 };

	assert_int_equal(parse(&cli, CLI_RUN,
			       LINE("clsrun", "--no-syscalls", "x"), NULL),
			 0);
	assert_true(cli.options.no_syscalls);
}

/* What the user gets to read must hold these words. */
static void test_refused(void **state)
{
	static const struct {
		enum cli_command command;
		const char *arguments[6];
		const char *words;
	} cases[] = {
		{ CLI_RUN, { NULL }, "which program" },
		{ CLI_RUN, { "" }, "which program" },
		{ CLI_RUN, { "--foo", "x" }, "no option --foo" },
		{ CLI_RUN, { "-Z", "x" }, "no option -Z" },
		{ CLI_RUN, { "-p", "1", "x" }, "no option -p" },
		{ CLI_RUN, { "--s", "x" }, "--s, or it is short" },
		{ CLI_RUN, { "--every=1", "x" }, "takes no argument" },
		{ CLI_RUN, { "-w" }, "-w needs an argument: -w SPEC" },
		{ CLI_RUN, { "--on" }, "--on needs an argument: --on KIND" },
		{ CLI_RUN, { "-w", "", "x" }, "the watch is empty" },
		{ CLI_RUN, { "--on", "rd", "x" }, "read, write or all" },
		{ CLI_RUN, { "--every", "--first", "x" }, "exclude" },
		{ CLI_RUN, { "--sample", "--every", "x" }, "exclude" },
		{ CLI_RUN, { "--sample=0", "x" }, "above 0, at most 1000" },
		{ CLI_RUN, { "--sample=1001", "x" }, "above 0, at most 1000" },
		{ CLI_RUN, { "--stacks=all", "x" }, "inline" },
		{ CLI_RUN, { "--depth", "0", "x" }, "from 1 to 256" },
		{ CLI_RUN, { "--depth", "257", "x" }, "from 1 to 256" },
		{ CLI_RUN, { "--runtime", "cobol", "x" }, "c++" },
		{ CLI_RUN, { "--runtime", "cobol", "x" }, " or none" },
		{ CLI_RUN,
		  { "--runtime", "none", "--runtime", "c++", "x" },
		  "excludes" },
		{ CLI_RUN,
		  { "--runtime", "c++", "--runtime", "none", "x" },
		  "excludes" },
		{ CLI_RUN, { "--max-events", "0", "x" }, "above 0" },
		{ CLI_RUN, { "--max-events", "-1", "x" }, "above 0" },
		{ CLI_RUN, { "--duration", "1d", "x" }, "ms, s, m or h" },
		{ CLI_RUN, { "-o", "", "x" }, "empty" },
		{ CLI_RUN, { "-o", "-", "x" }, "leave -o out" },
		{ CLI_RUN, { "-o", "a", "-o", "b", "x" }, "twice" },
		{ CLI_ATTACH, { NULL }, "which process" },
		{ CLI_ATTACH, { "812" }, "named with -p PID" },
		{ CLI_ATTACH, { "-p", "1", "x" }, "named with -p PID" },
		{ CLI_ATTACH, { "-p", "1", "-p", "2" }, "two processes" },
		{ CLI_ATTACH, { "-p", "0" }, "by its number" },
		{ CLI_ATTACH, { "-p", "1x" }, "by its number" },
		{ CLI_ATTACH, { "-p", "2147483648" }, "by its number" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(cli_done) struct cli cli = { 0 };
		struct error err = { 0 };
		const char *argv[8] = { "cls" };

		memcpy(argv + 1, cases[i].arguments,
		       sizeof(cases[i].arguments));
		if (parse(&cli, cases[i].command, (char **)argv, &err) >= 0)
			fail_msg("case %zu is not refused", i);
		if (!strstr(err.text, cases[i].words))
			fail_msg("case %zu: \"%s\" has no \"%s\"", i, err.text,
				 cases[i].words);
		assert_null(strchr(err.text, '\n'));
	}
}

static void test_same_policy_twice(void **state)
{
	_cleanup_(cli_done) struct cli cli = { 0 };

	assert_int_equal(parse(&cli, CLI_RUN,
			       LINE("clsrun", "--sample", "--sample=3", "x"),
			       NULL),
			 0);
	assert_true(cli.options.hz == 3);
}

static void test_runtimes(void **state)
{
	_cleanup_(cli_done) struct cli cli = { 0 };
	_cleanup_(cli_done) struct cli all = { 0 };

	assert_int_equal(parse(&cli, CLI_RUN,
			       LINE("clsrun", "--runtime", "c++", "--runtime",
				    "c++", "x"),
			       NULL),
			 0);
	assert_int_equal(cli.options.runtimes, runtime_bit("c++"));
	assert_int_equal(parse(&all, CLI_RUN, LINE("clsrun", "x"), NULL), 0);
	assert_int_equal(all.options.runtimes, 0);
}

static void test_show(void **state)
{
	_cleanup_(cli_done) struct cli cli = { 0 };
	_cleanup_(cli_done) struct cli other = { 0 };

	assert_int_equal(parse(&cli, CLI_ATTACH, LINE("a", "--help"), NULL),
			 CLI_HELP);
	assert_int_equal(parse(&other, CLI_RUN, LINE("r", "--version"), NULL),
			 CLI_VERSION);
}

/* One screen, and every option is in it. */
static void test_help(void **state)
{
	static const enum cli_command commands[] = { CLI_RUN, CLI_ATTACH };

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		_cleanup_(freep) char *text = NULL;
		size_t size, lines = 0;
		FILE *out = open_memstream(&text, &size);

		assert_non_null(out);
		cli_help(commands[i], out);
		fclose(out);
		for (size_t c = 0; c < NCHOICES; c++) {
			const struct choice *choice = &choices[c];
			char name[32];

			snprintf(name, sizeof(name),
				 choice->name ? "--%s" : "  -%s",
				 choice->name ? choice->name
					      : (char[]){ choice->letter, 0 });
			assert_int_equal(!!strstr(text, name),
					 choice->help && (choice->commands &
							  commands[i]));
		}
		for (char *line = strtok(text, "\n"); line;
		     line = strtok(NULL, "\n")) {
			lines++;
			if (strlen(line) > 80)
				fail_msg("too wide: %s", line);
		}
		assert_in_range(lines, 18, 32);
	}
}

static void test_duration(void **state)
{
	static const struct {
		const char *text;
		double seconds;
	} good[] = {
		{ "2", 2 },	  { "0.5", 0.5 }, { ".5s", 0.5 },
		{ "200ms", 0.2 }, { "1.5m", 90 }, { "2h", 7200 },
	};
	static const char *const bad[] = {
		"",    "0",    "-1",  "+1",  " 1",   "1 ",
		"1e3", "0x1",  "inf", "nan", ".",    "1sec",
		"1d",  "1ms ", "ms",  "1,5", "1e9h", "9999999999h",
	};
	double value = -7;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(value_duration(good[i].text, &value), 0);
		assert_true(value > good[i].seconds * 0.999 &&
			    value < good[i].seconds * 1.001);
	}
	value = -7;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (value_duration(bad[i], &value) >= 0)
			fail_msg("\"%s\" is taken for %f", bad[i], value);
	assert_true(value == -7);
}

static void test_count(void **state)
{
	uint64_t value = 0;

	assert_int_equal(
		value_count("18446744073709551615", 1, UINT64_MAX, &value), 0);
	assert_true(value == UINT64_MAX);
	assert_int_equal(
		value_count("18446744073709551616", 1, UINT64_MAX, &value),
		-ERANGE);
	assert_int_equal(value_count("5", 6, 9, &value), -ERANGE);
	assert_int_equal(value_count("", 0, 9, &value), -EINVAL);
	assert_int_equal(value_count(" 5", 0, 9, &value), -EINVAL);
	assert_int_equal(value_count("5x", 0, 9, &value), -EINVAL);
}

static void test_follow(void **state)
{
	static const struct {
		const char *options, *name;
		enum follow follow;
		const char *result; /* NULL: refused */
	} cases[] = {
		{ "-q", "log", FOLLOW_NONE, "log" },
		{ "-f", "log", FOLLOW_ONE_LOG, "log" },
		{ "-ff", "log", FOLLOW_LOG_EACH, "log.%p" },
		{ "-ff", "a%p", FOLLOW_LOG_EACH, "a%p" },
		{ "-ff", "a%%p", FOLLOW_LOG_EACH, "a%%p.%p" },
		{ "-fff", "log", FOLLOW_NONE, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(cli_done) struct cli cli = { 0 };
		struct error err = { 0 };
		int r = parse(&cli, CLI_RUN,
			      LINE("clsrun", cases[i].options, "-o",
				   cases[i].name, "true"),
			      &err);

		assert_int_equal(r < 0, !cases[i].result);
		if (r < 0)
			continue;
		assert_int_equal(cli.options.follow, cases[i].follow);
		assert_string_equal(cli.options.output, cases[i].result);
	}
}

static void test_output(void **state)
{
	static const struct {
		const char *text;
		const char *result; /* NULL: refused */
	} cases[] = {
		{ "log", "log" },
		{ "%q{CLS_TEST}.json", "a b.json" },
		{ "100%%", "100%%" },
		{ "%%q{CLS_TEST}", "%%q{CLS_TEST}" },
		{ "a%p.%%", "a%p.%%" },
		{ "x%q{CLS_TEST}%q{CLS_TEST}", "xa ba b" },
		{ "%q{CLS_UNSET}", NULL },
		{ "%q{}", NULL },
		{ "%q", NULL },
		{ "%q{CLS_TEST", NULL },
		{ "%qCLS_TEST", NULL },
		{ "%p", "%p" },
		{ "%n", NULL },
		{ "log%", NULL },
		{ "", NULL },
		{ "%q{CLS_EMPTY}", NULL },
	};

	setenv("CLS_TEST", "a b", 1);
	setenv("CLS_EMPTY", "", 1);
	unsetenv("CLS_UNSET");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(freep) char *file = NULL;
		struct error err = { 0 };
		int r = value_output(cases[i].text, &file, &err);

		if (!cases[i].result) {
			assert_true(r < 0);
			assert_null(file);
			assert_non_null(strstr(err.text, "-o: "));
			continue;
		}
		assert_int_equal(r, 0);
		assert_string_equal(file, cases[i].result);
	}
}

/* In a child: it plays with descriptors that cmocka needs. */
static int streams(int closed, const char *output)
{
	struct cli cli = { .options = { .output = output } };
	pid_t pid = fork();
	int status;

	if (!pid) {
		close(closed);
		if (cli_streams(&cli, NULL) < 0)
			_exit(1);
		_exit(fcntl(closed, F_GETFD) == FD_CLOEXEC ? 0 : 2);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_streams(void **state)
{
	assert_int_equal(streams(STDIN_FILENO, NULL), 0);
	assert_int_equal(streams(STDERR_FILENO, NULL), 0);
	assert_int_equal(streams(STDOUT_FILENO, "log"), 0);
	assert_int_equal(streams(STDOUT_FILENO, NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_attach),
		cmocka_unit_test(test_verify_stacks),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_stacks_once),
		cmocka_unit_test(test_no_run_ahead),
		cmocka_unit_test(test_no_syscalls),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_same_policy_twice),
		cmocka_unit_test(test_runtimes),
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_follow),
		cmocka_unit_test(test_output),
		cmocka_unit_test(test_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
