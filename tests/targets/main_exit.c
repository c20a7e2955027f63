/* SPDX-License-Identifier: Apache-2.0 */
/* watch: number */
/* The main thread leaves first; another ends the process. */
#include <pthread.h>
#include <unistd.h>

#include "tests/targets/target.h"

static volatile int number;
static pthread_t main_thread;

static void *worker(void *argument)
{
	pthread_join(main_thread, NULL);
	for (int i = 0; i < 1000; i++)
		number++;
	printf("%d\n", number);
	fflush(stdout);
	exit(5);
}

int main(void)
{
	pthread_t thread;

	main_thread = pthread_self();
	number = 1;
	pthread_create(&thread, NULL, worker, NULL);
	pthread_exit(NULL);
}
