/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* Signals that are waited for, not handled; sets and siginfo watched. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "tests/targets/target.h"

static struct {
	sigset_t set;
	siginfo_t info;
	struct timespec time;
	int number;
} box;

static void *sender(void *argument)
{
	for (int i = 0; i < 10; i++) {
		union sigval value = { .sival_int = i * 11 };

		usleep(2000);
		sigqueue(getpid(), SIGRTMIN, value);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	int sum = 0, r;

	sigemptyset(&box.set);
	sigaddset(&box.set, SIGRTMIN);
	sigaddset(&box.set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &box.set, NULL);
	pthread_create(&thread, NULL, sender, NULL);
	for (int i = 0; i < 10; i++) {
		expect(sigwaitinfo(&box.set, &box.info) == SIGRTMIN);
		expect(box.info.si_code == SI_QUEUE);
		sum += box.info.si_value.sival_int;
	}
	pthread_join(thread, NULL);
	kill(getpid(), SIGUSR1);
	expect(sigwait(&box.set, &box.number) == 0);
	box.time.tv_nsec = 50000000;
	r = sigtimedwait(&box.set, &box.info, &box.time);
	printf("%d %d %d %d\n", sum, box.number == SIGUSR1, r, errno == EAGAIN);
	return 0;
}
