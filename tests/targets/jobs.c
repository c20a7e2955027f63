/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job of a terminal: says when it begins and when it is continued, reads a
 * line, and stores into a watched counter all the while.  Told "now" it reads
 * at once.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "tests/targets/target.h"

static volatile uint64_t counter;
static volatile sig_atomic_t continued;

static void on_continue(int sig)
{
	continued = 1;
}

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_continue };
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[64] = "";
	int ready = 0;

	sigaction(SIGCONT, &action, NULL);
	say("ready");
	while (argc < 2 && ready <= 0) {
		counter++;
		if (continued)
			say("continued");
		continued = 0;
		ready = poll(&input, 1, 20);
	}
	counter++;
	while (read(STDIN_FILENO, line, sizeof(line) - 1) < 0)
		expect(errno == EINTR);
	if (continued)
		say("continued");
	printf("got %s", line);
	return counter ? 7 : 1;
}
