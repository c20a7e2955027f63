/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first thread has ended, or ends when it is told to ("late"), and others
 * live on.  Commands on standard input:
 *
 *	l  the first thread ends
 *	w  a worker ends
 *	f  fork a child, which counts, too, and ends with 3
 *	e  exec, as a program that is ordinary again
 *
 * At its end the others end, too, and what was counted is compared.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { WORKERS = 3 };

static volatile unsigned tally[WORKERS + 1];
static volatile int stop[WORKERS];
static unsigned counted[WORKERS];
static pthread_t worker[WORKERS];
static sem_t may_end;

static void *work(void *argument)
{
	int i = (int)(intptr_t)argument;

	while (!stop[i]) {
		tally[i]++;
		counted[i]++;
		usleep(500);
	}
	return NULL;
}

static void say(const char *text)
{
	puts(text);
	fflush(stdout);
}

/* The state of the process is that of its first thread. */
static void await_end_of_first(void)
{
	char line[256] = "";

	while (!strstr(line, ") Z")) {
		int fd = open("/proc/self/stat", O_RDONLY);
		ssize_t size = read(fd, line, sizeof(line) - 1);

		line[size > 0 ? size : 0] = '\0';
		close(fd);
		usleep(1000);
	}
}

static void fork_one(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < 10; i++)
			tally[WORKERS]++;
		_exit(tally[WORKERS] == 10 ? 3 : 1);
	}
	waitpid(pid, &status, 0);
	say(WIFEXITED(status) && WEXITSTATUS(status) == 3 ? "forked" : "wrong");
}

static void obey(void)
{
	char command;
	int gone = 0;

	while (read(0, &command, 1) == 1) {
		switch (command) {
		case 'l':
			sem_post(&may_end);
			await_end_of_first();
			say("ended");
			break;
		case 'w':
			stop[gone] = 1;
			pthread_join(worker[gone++], NULL);
			say("gone");
			break;
		case 'f':
			fork_one();
			break;
		case 'e':
			execl("/proc/thread-self/exe", "leaderless", "again",
			      NULL);
			break;
		}
	}
	for (int i = gone; i < WORKERS; i++) {
		stop[i] = 1;
		pthread_join(worker[i], NULL);
	}
}

static void *command(void *argument)
{
	const int *late = argument;
	int right = 1;

	if (!*late)
		await_end_of_first();
	say("ready");
	obey();
	for (int i = 0; i < WORKERS; i++)
		right = right && tally[i] == counted[i];
	say(right ? "right" : "wrong");
	exit(7);
}

int main(int argc, char **argv)
{
	static int late;
	pthread_t thread;

	if (argc > 1 && !strcmp(argv[1], "again")) {
		for (int i = 0; i < 10; i++)
			tally[0]++;
		say("again");
		return 4;
	}
	late = argc > 1 && !strcmp(argv[1], "late");
	sem_init(&may_end, 0, 0);
	/* First, so that who looks for a thread that lives finds one of these.
	 */
	for (intptr_t i = 0; i < WORKERS; i++)
		pthread_create(&worker[i], NULL, work, (void *)i);
	pthread_create(&thread, NULL, command, &late);
	if (late)
		sem_wait(&may_end);
	pthread_exit(NULL);
}
