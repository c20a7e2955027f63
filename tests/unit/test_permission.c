/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tracer/process/permission.h"

static char dir[] = "/tmp/cls-permission-XXXXXX";

/* A file in the test's directory. */
static const char *put(const char *name, const void *data, size_t size,
		       mode_t mode)
{
	static char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	return path;
}

static const char *yama(char scope)
{
	return put("ptrace_scope", (char[]){ scope, '\n' }, 2, 0644);
}

static void assert_says(const struct error *err, const char *words)
{
	if (!strstr(err->text, words))
		fail_msg("\"%s\" has no \"%s\"", err->text, words);
	assert_null(strchr(err->text, '\n'));
}

/* A child that waits until it is killed. */
static pid_t start(void (*prepare)(void))
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare)
			prepare();
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_fine(void **state)
{
	pid_t pid = start(NULL);
	struct error err = { 0 };

	assert_int_equal(permission_explain(pid, 0, "/nonexistent", &err), 0);
	assert_string_equal(err.text, "");
	end(pid);
}

static void test_no_process(void **state)
{
	pid_t pid = start(NULL);
	struct error err = { 0 };

	end(pid);
	assert_int_equal(permission_explain(pid, 0, "/nonexistent", &err),
			 -ESRCH);
	assert_says(&err, "there is no process");
	assert_int_equal(permission_explain(-1, -EPERM, "/nonexistent", &err),
			 -EPERM);
	assert_says(&err, "there is no process -1");
}

static void test_zombie(void **state)
{
	pid_t pid = start(NULL);
	siginfo_t info;
	struct error err = { 0 };

	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(permission_explain(pid, -EPERM, "/nonexistent", &err),
			 -EPERM);
	assert_says(&err, "zombie");
	assert_true(permission_explain(pid, 0, "/nonexistent", NULL) < 0);
	end(pid);
}

static void test_itself(void **state)
{
	struct error err = { 0 };

	assert_int_equal(permission_explain(getpid(), 0, "/nonexistent", &err),
			 -EINVAL);
	assert_says(&err, "this tracer itself");
}

static void traced(void)
{
	prctl(PR_SET_NAME, "odd ) name");
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static void test_traced(void **state)
{
	pid_t pid = start(traced);
	struct error err = { 0 };
	char words[64];

	snprintf(words, sizeof(words), "(odd ) name) is already traced by ");
	assert_int_equal(permission_explain(pid, -EPERM, "/nonexistent", &err),
			 -EPERM);
	assert_says(&err, words);
	snprintf(words, sizeof(words), "(pid %d)", getpid());
	assert_says(&err, words);
	assert_int_equal(permission_explain(pid, 0, "/nonexistent", NULL),
			 -EPERM);
	end(pid);
}

static void test_other_number(void **state)
{
	pid_t pid = start(NULL);
	struct error err = { 0 };

	assert_int_equal(permission_explain(pid, -ESRCH, "/nonexistent", &err),
			 -ESRCH);
	assert_says(&err, "ended just now");
	assert_int_equal(permission_explain(pid, -EIO, "/nonexistent", &err),
			 -EIO);
	assert_says(&err, "Input/output error");
	end(pid);
}

/* Ask as somebody else, in a child; his answer comes through a pipe. */
static void ask_as(uid_t uid, pid_t pid, const char *scope, bool filtered,
		   struct error *err)
{
	struct sock_filter allow = BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };
	int answer[2];
	pid_t child;

	assert_int_equal(pipe(answer), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (filtered &&
		    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
			_exit(1);
		if (uid &&
		    (setresgid(uid, uid, uid) || setresuid(uid, uid, uid)))
			_exit(1);
		*err = (struct error){ 0 };
		if (permission_explain(pid, -EPERM, scope, err) != -EPERM)
			_exit(1);
		_exit(write(answer[1], err, sizeof(*err)) != sizeof(*err));
	}
	close(answer[1]);
	assert_int_equal(read(answer[0], err, sizeof(*err)), sizeof(*err));
	close(answer[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

enum { SOMEBODY = 54321, ANOTHER = 54322 };

static void become_somebody(void)
{
	if (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) ||
	    setresuid(SOMEBODY, SOMEBODY, SOMEBODY))
		_exit(1);
	/* Changing ids took it away. */
	prctl(PR_SET_DUMPABLE, 1);
}

static void become_secret(void)
{
	become_somebody();
	prctl(PR_SET_DUMPABLE, 0);
}

static void become_mixed(void)
{
	if (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) ||
	    setresuid(SOMEBODY, ANOTHER, ANOTHER))
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
}

static void need_root(void)
{
	if (geteuid())
		skip();
}

static void test_other_user(void **state)
{
	struct error err;
	pid_t pid;

	need_root();
	pid = start(NULL);
	ask_as(SOMEBODY, pid, "/nonexistent", false, &err);
	assert_says(&err, "belongs to root (uid 0), and you are uid 54321");
	assert_says(&err, "sudo");
	end(pid);

	pid = start(become_mixed);
	ask_as(SOMEBODY, pid, "/nonexistent", false, &err);
	assert_says(&err, "set-user-ID");
	end(pid);
}

static void test_yama(void **state)
{
	struct error err;
	pid_t pid;

	need_root();
	assert_int_equal(chmod(dir, 0755), 0);
	pid = start(become_somebody);
	ask_as(SOMEBODY, pid, yama('1'), false, &err);
	assert_says(&err, "sudo sysctl kernel.yama.ptrace_scope=0");
	ask_as(SOMEBODY, pid, yama('2'), false, &err);
	assert_says(&err, "is 2: only root");
	ask_as(0, pid, yama('3'), false, &err);
	assert_says(&err, "is 3: ");
	/* Root is not held by 1, nor anybody by 0: another reason. */
	ask_as(0, pid, yama('1'), false, &err);
	assert_null(strstr(err.text, "ptrace_scope"));
	ask_as(SOMEBODY, pid, yama('0'), false, &err);
	assert_says(&err, "CAP_SYS_PTRACE is missing");
	end(pid);
}

static void test_rest(void **state)
{
	struct error err;
	pid_t pid;

	need_root();
	pid = start(become_secret);
	ask_as(SOMEBODY, pid, "/nonexistent", false, &err);
	assert_says(&err, "not dumpable");
	ask_as(0, pid, "/nonexistent", true, &err);
	assert_says(&err, "seccomp");
	end(pid);
}

static Elf64_Ehdr elf(unsigned char class, unsigned char data, Elf64_Half arch)
{
	return (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, class, data,
			     EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = arch,
	};
}

static void test_program_kind(void **state)
{
	static const struct {
		unsigned char class, data;
		Elf64_Half arch;
		const char *words; /* NULL: fine */
	} cases[] = {
		{ ELFCLASS64, ELFDATA2LSB, EM_X86_64, NULL },
		{ ELFCLASS32, ELFDATA2LSB, EM_386, "32-bit" },
		{ ELFCLASS32, ELFDATA2LSB, EM_X86_64, "32-bit" },
		{ ELFCLASS64, ELFDATA2LSB, EM_AARCH64, "another processor" },
		{ ELFCLASS64, ELFDATA2MSB, EM_PPC64, "another processor" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		Elf64_Ehdr header =
			elf(cases[i].class, cases[i].data, cases[i].arch);
		const char *path =
			put("program", &header, sizeof(header), 0755);
		struct error err = { 0 };

		assert_int_equal(permission_check_program(path, &err),
				 cases[i].words ? PERMISSION_UNSUITABLE : 0);
		if (cases[i].words)
			assert_says(&err, cases[i].words);
		/* Cut short it is no ELF file: exec will say what it is. */
		assert_int_equal(truncate(path, 10), 0);
		assert_int_equal(permission_check_program(path, NULL), 0);
	}
}

static void test_program_file(void **state)
{
	struct error err = { 0 };
	char path[PATH_MAX];

	assert_int_equal(permission_check_program(
				 put("s", "#!/bin/sh\n", 10, 0755), &err),
			 0);
	assert_int_equal(permission_check_program(
				 put("s", "#!/bin/sh\n", 10, 0644), &err),
			 PERMISSION_NOT_EXECUTABLE);
	assert_says(&err, "chmod +x");
	assert_int_equal(permission_check_program(dir, &err),
			 PERMISSION_NOT_EXECUTABLE);
	assert_says(&err, "is a directory");
	assert_int_equal(permission_check_program("/dev/null", &err),
			 PERMISSION_NOT_EXECUTABLE);
	snprintf(path, sizeof(path), "%s/none", dir);
	assert_int_equal(permission_check_program(path, &err),
			 PERMISSION_NOT_FOUND);
	assert_says(&err, path);
	assert_int_equal(permission_check_program("", &err),
			 PERMISSION_NOT_FOUND);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(permission_check_program(path, &err),
			 PERMISSION_NOT_FOUND);
}

static void test_program_path(void **state)
{
	_cleanup_(freep) char *before = strdup(getenv("PATH"));
	struct error err = { 0 };
	char path[PATH_MAX];

	put("cls-test-a", "#!/bin/sh\n", 10, 0755);
	put("cls-test-b", "#!/bin/sh\n", 10, 0644);
	snprintf(path, sizeof(path), "/nonexistent:%s:", dir);
	setenv("PATH", path, 1);
	assert_int_equal(permission_check_program("cls-test-a", &err), 0);
	assert_int_equal(permission_check_program("cls-test-b", &err),
			 PERMISSION_NOT_EXECUTABLE);
	assert_int_equal(permission_check_program("cls-test-c", &err),
			 PERMISSION_NOT_FOUND);
	assert_says(&err, "no program cls-test-c in PATH");

	setenv("PATH", "/nonexistent", 1);
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(permission_check_program("cls-test-a", &err),
			 PERMISSION_NOT_FOUND);
	assert_says(&err, "./cls-test-a");
	/* An empty entry is the directory we are in. */
	setenv("PATH", "/nonexistent:", 1);
	assert_int_equal(permission_check_program("cls-test-a", &err), 0);
	assert_int_equal(chdir("/"), 0);
	setenv("PATH", before, 1);
}

static int setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const names[] = { "ptrace_scope", "program", "s",
					     "cls-test-a", "cls-test-b" };
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fine),
		cmocka_unit_test(test_no_process),
		cmocka_unit_test(test_zombie),
		cmocka_unit_test(test_itself),
		cmocka_unit_test(test_traced),
		cmocka_unit_test(test_other_number),
		cmocka_unit_test(test_other_user),
		cmocka_unit_test(test_yama),
		cmocka_unit_test(test_rest),
		cmocka_unit_test(test_program_kind),
		cmocka_unit_test(test_program_file),
		cmocka_unit_test(test_program_path),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
