/* SPDX-License-Identifier: Apache-2.0 */
/* watch: tally */
/* args: prefork */
/* args: storm */
/* args: chain */
/* args: spawn */
/* args: orphans */
/* args: threads */
/* args: shared */
/*
 * Processes that make processes.  Each touches its own copy of the watched
 * tally, a number of times that is known, and its exit status tells what it
 * found there.
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { WORKERS = 4, TURNS = 50, STORM = 200 };

static volatile struct {
	long turns;
	char name[16];
} tally;

static char *self;

static void work(int turns)
{
	for (int i = 0; i < turns; i++)
		tally.turns++;
}

static int end_of(pid_t pid)
{
	int status = 0;

	expect(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Workers that live on beside their parent, and end when told. */
static void prefork(void)
{
	pid_t worker[WORKERS];
	int go[2];
	char byte;

	expect(pipe(go) == 0);
	work(5);
	for (int i = 0; i < WORKERS; i++) {
		worker[i] = fork();
		if (worker[i] == 0) {
			close(go[1]);
			work(TURNS);
			expect(read(go[0], &byte, 1) == 0);
			work(i);
			_exit((int)tally.turns);
		}
	}
	work(TURNS);
	close(go[1]);
	for (int i = 0; i < WORKERS; i++)
		printf("%d\n", end_of(worker[i]));
	printf("%ld\n", tally.turns);
}

/* Children that end at once, are killed, or fork again and go first. */
static int leaf(int i)
{
	pid_t pid;

	work(1);
	if (i % 8 == 1)
		raise(SIGKILL);
	if (i % 8 == 2) {
		pid = fork();
		work(1);
		if (pid == 0)
			_exit(0); /* maybe behind its parent */
	}
	return (int)tally.turns & 0x7f;
}

static void storm(void)
{
	long sum = 0;
	pid_t pid[8];

	for (int i = 0; i < STORM; i += 8) {
		for (int k = 0; k < 8; k++) {
			pid[k] = fork();
			expect(pid[k] >= 0);
			if (pid[k] == 0)
				_exit(leaf(i + k));
		}
		work(1);
		for (int k = 7; k >= 0; k--)
			sum += end_of(pid[k]);
	}
	printf("%ld %ld\n", sum, tally.turns);
}

/* fork, exec, fork, exec ...; each begins with a tally of its own. */
static int chain(int depth)
{
	char text[16];
	pid_t pid;

	work(depth);
	if (depth == 0)
		return 0;
	pid = depth % 2 ? fork() : vfork();
	if (pid == 0) {
		snprintf(text, sizeof(text), "%d", depth - 1);
		execl(self, self, "chain", text, NULL);
		_exit(99);
	}
	return end_of(pid) + (int)tally.turns;
}

static void spawned(void)
{
	char word[] = "chain", depth[] = "0";
	char *argv[] = { self, word, depth, NULL }, *none[] = { NULL };
	pid_t pid;

	for (int i = 0; i < 20; i++) {
		work(1);
		expect(posix_spawn(&pid, self, NULL, NULL, argv, none) == 0);
		expect(end_of(pid) == 0);
	}
	printf("%ld\n", tally.turns);
}

/* The parent is gone before its child has begun to work. */
static void orphans(void)
{
	int done[2];
	char byte;

	expect(pipe(done) == 0);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (fork())
				raise(i % 2 ? SIGKILL : SIGTERM);
			while (getppid() == pid)
				usleep(100);
			work(TURNS);
			byte = (char)tally.turns;
			expect(write(done[1], &byte, 1) == 1);
			_exit(0);
		}
		printf("%d ", end_of(pid));
		expect(read(done[0], &byte, 1) == 1);
		printf("%d\n", byte);
	}
}

static void *forks(void *result)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			tally.turns = 0;
			work(TURNS);
			_exit((int)tally.turns);
		}
		*(long *)result += end_of(pid);
	}
	return NULL;
}

/* A program of another thread than the first, while others fork. */
static void *execs(void *unused)
{
	execl(self, self, "chain", "0", NULL);
	return unused;
}

static void threads(void)
{
	long results[WORKERS] = { 0 }, sum = 0;
	pthread_t thread[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&thread[i], NULL, forks, &results[i]);
	for (int i = 0; i < 500; i++)
		tally.name[i % 16]++;
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(thread[i], NULL);
		sum += results[i];
	}
	printf("%ld\n", sum);
	fflush(stdout);
	if (fork() == 0) {
		pthread_create(&thread[0], NULL, execs, NULL);
		pause();
	}
	wait(NULL);
}

/* Memory that all of them map, with a locked instruction. */
static void shared(void)
{
	long *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	expect(count != MAP_FAILED);
	for (int i = 0; i < WORKERS; i++) {
		if (fork())
			continue;
		for (int k = 0; k < TURNS; k++) {
			work(1);
			__atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	printf("%ld\n", *count);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "prefork";

	self = argv[0];
	if (argc > 2)
		return chain(atoi(argv[2]));
	if (!strcmp(what, "prefork"))
		prefork();
	else if (!strcmp(what, "storm"))
		storm();
	else if (!strcmp(what, "chain"))
		printf("%d\n", chain(5));
	else if (!strcmp(what, "spawn"))
		spawned();
	else if (!strcmp(what, "orphans"))
		orphans();
	else if (!strcmp(what, "threads"))
		threads();
	else
		shared();
	return (int)(tally.turns & 0x3f);
}
