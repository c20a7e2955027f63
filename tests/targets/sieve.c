/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* args: calls */
/* args: ask */
/* args: own */
/* args: children */
/* args: forks */
/* args: orphan */
/* args: exec */
/* args: threads */
/*
 * So many calls that touch nothing of what is watched that a filter is put in;
 * then those that matter, and what could be told by them.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { MANY = 1000, ROUNDS = 50, PAGE_SIZE = 4096 };

static _Alignas(PAGE_SIZE) char box[2 * PAGE_SIZE];
static _Alignas(PAGE_SIZE) char beside[PAGE_SIZE];
static volatile int failures;

static void many_calls(void)
{
	box[0]++;
	for (int i = 0; i < MANY; i++)
		if (syscall(SYS_getppid) <= 0)
			failures++;
}

/* A pipe between bytes of the box, of what lies beside it, and over its end. */
static void calls(void)
{
	char *volatile last = &box[sizeof(box) - 1];
	int fds[2];

	expect(pipe(fds) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		memset(beside, i, sizeof(beside));
		expect(write(fds[1], beside, 64) == 64);
		expect(read(fds[0], box + PAGE_SIZE - 32, 64) == 64);
		expect(write(fds[1], box + PAGE_SIZE - 32, 64) == 64);
		expect(read(fds[0], beside + 64, 64) == 64);
		expect(memcmp(beside, beside + 64, 64) == 0);
		expect(write(fds[1], beside, 1) == 1);
		expect(read(fds[0], last, 100) == 1);
	}
	printf("%lx %lx\n", hash(box, sizeof(box)),
	       hash(beside, sizeof(beside)));
}

static void ask(void)
{
	char *page = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	printf("seccomp %d, no_new_privs %d\n", prctl(PR_GET_SECCOMP),
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	expect(page != MAP_FAILED && mprotect(page, PAGE_SIZE, PROT_READ) == 0);
	printf("%ld", syscall(-1L));
	printf(" %d\n", errno);
}

/* getuid fails, gettid would be a tracer's, getgid kills. */
static int own_filter(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getgid, 3, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter),
				      filter };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static void try_call(long number)
{
	long r = syscall(number);

	printf("%ld: %d\n", number, r < 0 ? errno : 0);
}

static void own(void)
{
	if (own_filter() < 0) {
		printf("errno %d\n", errno);
		expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		expect(own_filter() == 0);
	}
	printf("seccomp %d\n", prctl(PR_GET_SECCOMP));
	try_call(SYS_getuid);
	try_call(SYS_gettid);
	try_call(SYS_getpid);
	many_calls();
	calls();
	try_call(SYS_gettid);
	fflush(stdout);
	syscall(SYS_getgid);
}

/* A child that makes calls of all kinds, and a child of it. */
static void child(void)
{
	int status = 0;
	pid_t pid;

	ask();
	calls();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		ask();
		calls();
		fflush(stdout);
		_exit(2);
	}
	expect(waitpid(pid, &status, 0) == pid);
	printf("status %d\n", WEXITSTATUS(status));
	fflush(stdout);
	_exit(1);
}

static void children(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		child();
	expect(waitpid(pid, &status, 0) == pid);
	printf("status %d\n", WEXITSTATUS(status));
	fflush(stdout);
	printf("system %d\n", system("echo hello; exit 5"));
	ask();
}

/* Its output is waited for: it holds the pipe. */
static void orphan(void)
{
	if (fork() != 0)
		return;
	usleep(100000);
	child();
}

static void *work(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		many_calls();
		__atomic_fetch_add(&box[8], 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		expect(pthread_create(&thread[i], NULL, work, NULL) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("%d\n", box[8]);
	memset(box, 0, sizeof(box));
	calls();
}

/* Without a filter of ours: only read, write and exit are allowed then. */
static void strict(void)
{
	static const char allowed[] = "strict\n", refused[] = "refused\n";
	bool is = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0;

	box[1]++;
	(void)!write(STDOUT_FILENO, is ? allowed : refused,
		     is ? sizeof(allowed) - 1 : sizeof(refused) - 1);
	box[2]++;
	syscall(SYS_exit, box[2]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "calls";

	if (strcmp(what, "forks") == 0)
		expect(system("exit 0") == 0);
	many_calls();
	if (strcmp(what, "calls") == 0)
		calls();
	else if (strcmp(what, "ask") == 0)
		ask();
	else if (strcmp(what, "own") == 0)
		own();
	else if (strcmp(what, "children") == 0)
		children();
	else if (strcmp(what, "orphan") == 0)
		orphan();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "strict") == 0)
		strict();
	else if (strcmp(what, "exec") == 0)
		execl("/proc/self/exe", argv[0], "calls", NULL);
	printf("%d failures\n", failures);
	return 0;
}
