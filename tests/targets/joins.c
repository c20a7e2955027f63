/* SPDX-License-Identifier: Apache-2.0 */
/* watch: box */
/* watch: libm.so.6:signgam */
/* What is watched joins when there are filters for something else already. */
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/targets/target.h"

enum { ROUNDS = 10, MANY = 1000 };

static _Alignas(4096) char box[4096];

static void many_calls(void)
{
	box[0]++;
	for (int i = 0; i < MANY; i++)
		expect(syscall(SYS_getppid) > 0);
}

int main(void)
{
	void *library;
	int fds[2], *late;

	expect(pipe(fds) == 0);
	many_calls();
	library = dlopen("libm.so.6", RTLD_NOW);
	expect(library);
	late = dlsym(library, "signgam");
	expect(late);
	for (int i = 0; i < ROUNDS; i++) {
		expect(write(fds[1], &i, sizeof(i)) == sizeof(i));
		expect(read(fds[0], late, sizeof(*late)) == sizeof(i));
		many_calls();
	}
	expect(write(fds[1], late, sizeof(*late)) == sizeof(*late));
	expect(read(fds[0], box, sizeof(*late)) == sizeof(*late));
	printf("%d\n", box[0]);
	return 0;
}
