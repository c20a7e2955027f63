/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread-local variables of the program, of libc and of a library that comes
 * later, for two threads: lines as those of typed.cc, with the thread's
 * fs_base in the register's place.  The library lies beside the program.
 */
#include <asm/prctl.h>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef NO_LIBRARY
#include <dlfcn.h>
#endif

enum { NONE, GUESS, LIKELY, EXACT };

struct Point {
	long x, y;
};

thread_local int counter = 5;
thread_local Point points[3];

namespace shop
{
thread_local Point place;
}

#ifndef NO_LIBRARY
typedef void *(*where)();
static where library[2];
#endif

static uint64_t fs_base()
{
	uint64_t base;

	syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
	return base;
}

static void say(const char *name, const void *addr, const void *start,
		int confidence, const char *member)
{
	printf("tls\t%s\t%zx\t%zx\t%zx\t%d\t%s\n", name, (size_t)addr,
	       (size_t)fs_base(), (size_t)start, confidence, member);
}

static void mine()
{
	counter++;
	say("counter", &counter, &counter, EXACT, "");
	say("points", &points[2].y, points, EXACT, "[2].y");
	say("shop::place", &shop::place.y, &shop::place, EXACT, "y");
	say("errno", &errno, &errno, EXACT, "");
#ifndef NO_LIBRARY
	char *late = static_cast<char *>(library[0]());

	say("late", late + 8, late, EXACT, "[1]");
	say("hidden", library[1](), library[1](), EXACT, "");
#endif
}

static void *thread(void *unused)
{
	char byte;

	mine();
	puts("end");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		continue;
	return unused;
}

#ifndef NO_LIBRARY
static void load(const char *program)
{
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s", program);
	strcpy(strrchr(path, '/') + 1, "tls_library.so");
	handle = dlopen(path, RTLD_NOW);
	if (!handle) {
		puts(dlerror());
		exit(1);
	}
	library[0] = reinterpret_cast<where>(dlsym(handle, "late_place"));
	library[1] = reinterpret_cast<where>(dlsym(handle, "hidden_place"));
}
#endif

int main([[maybe_unused]] int argc, [[maybe_unused]] char **argv)
{
	pthread_t other;

#ifndef NO_LIBRARY
	load(argv[0]);
#endif
	mine();
	pthread_create(&other, nullptr, thread, nullptr);
	pthread_join(other, nullptr);
	return 0;
}
