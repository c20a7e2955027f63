/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays a corpus where there is no libFuzzer, so that every build runs the
 * targets: each file as it is, each of its beginnings, and changed at random
 * from a fixed seed.
 *
 *	fuzz_NAME FILE-OR-FOLDER...
 */
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

enum { LONGEST = 65536, BEGINNINGS = 512, CHANGES = 2000 };

/* For the handler: what is to be kept if it crashes. */
static const uint8_t *volatile current;
static volatile size_t current_size;
static volatile unsigned replayed;

/* The input in hexadecimal digits: `xxd -r -p` gives it back. */
static void on_abort(int number)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < current_size; i++) {
		char pair[2] = { digits[current[i] >> 4],
				 digits[current[i] & 15] };

		if (write(STDERR_FILENO, pair, 2) < 0)
			break;
	}
	if (write(STDERR_FILENO, "\n", 1) < 0)
		_exit(1);
	signal(number, SIG_DFL);
	raise(number);
}

/* In memory of exactly its size. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	expect(copy);
	memcpy(copy, data, size);
	current = copy;
	current_size = size;
	LLVMFuzzerTestOneInput(copy, size);
	current_size = 0;
	free(copy);
	replayed++;
}

/* xorshift64 */
static uint64_t next(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

/* A bit, a byte, a word full of ones or zeros, or a piece moved. */
static void change(uint8_t *data, size_t size, uint64_t *random)
{
	size_t at = next(random) % size, from = next(random) % size;
	size_t n = min_u64(1 + next(random) % 8, size - max_u64(at, from));

	switch (next(random) % 5) {
	case 0:
		data[at] ^= 1 << next(random) % 8;
		break;
	case 1:
		data[at] = next(random) >> 32;
		break;
	case 2:
		memset(data + at, 0xff, n);
		break;
	case 3:
		memset(data + at, 0, n);
		break;
	default:
		memmove(data + at, data + from, n);
		break;
	}
}

static void replay(const char *path)
{
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	static uint8_t data[LONGEST], changed[LONGEST];
	uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
	size_t size, step;

	if (!file) {
		perror(path);
		exit(1);
	}
	size = fread(data, 1, sizeof(data), file);
	run(data, size);
	step = 1 + size / BEGINNINGS;
	for (size_t n = 0; n < size; n += step)
		run(data, n);
	for (unsigned i = 0; size && i < CHANGES; i++) {
		memcpy(changed, data, size);
		for (unsigned k = next(&random) % 6 + 1; k--;)
			change(changed, size, &random);
		run(changed, size);
	}
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void replay_folder(const char *path)
{
	struct dirent **entries;
	int n = scandir(path, &entries, visible, alphasort);

	if (n < 0) {
		perror(path);
		exit(1);
	}
	for (int i = 0; i < n; i++) {
		char name[4096];

		snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		replay(name);
		free(entries[i]);
	}
	free(entries);
}

int main(int argc, char **argv)
{
	signal(SIGABRT, on_abort);
	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			replay_folder(argv[i]);
		else
			replay(argv[i]);
	}
	printf("%u inputs\n", replayed);
	return replayed ? 0 : 1;
}
