/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage: test_hotspot Truth.java
 * The heap of a Java virtual machine that waits, as we and jmap see it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "tracer/component/hotspot.h"

enum { CLASSES = 4096, SAMPLES = 4096, SKIP_ALL = 77 };

struct count {
	char name[COMPONENT_NAME];
	long count, found;
};

struct scene {
	const char *options; /* of the machine, besides */
	const char *directory;
	pid_t pid;
	FILE *output;
	int input, mem;
	struct maps *maps;
	struct symbols *symbols;
	struct world world;
	struct resolver *resolver;

	struct count count[CLASSES];
	size_t classes;
	long objects;
	uint64_t sample[SAMPLES], size[SAMPLES];
	unsigned samples;
};

static int read_mem(void *context, uint64_t addr, void *buffer, size_t size)
{
	const struct scene *scene = context;

	return pread(scene->mem, buffer, size, (off_t)addr) == (ssize_t)size
		       ? 0
		       : -EFAULT;
}

static void spawn(struct scene *scene)
{
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	scene->pid = fork();
	assert_true(scene->pid >= 0);
	if (scene->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		setenv("JDK_JAVA_OPTIONS", scene->options, 1);
		/* Of what a collection left, jmap tells less than there is. */
		execlp("java", "java", "-Xmx64m", "-XX:+DisableExplicitGC",
		       "-cp", scene->directory, "Truth", "1", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	scene->input = in[1];
	scene->output = fdopen(out[0], "r");
	assert_non_null(scene->output);
}

static void wait_ready(struct scene *scene)
{
	char line[256];

	do
		assert_non_null(fgets(line, sizeof(line), scene->output));
	while (strcmp(line, "ready\n") != 0);
}

static int set_up(void **state)
{
	struct scene *scene = *state;
	struct error err = { 0 };
	char path[32];

	spawn(scene);
	wait_ready(scene);
	snprintf(path, sizeof(path), "/proc/%d/mem", scene->pid);
	scene->mem = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(scene->mem >= 0);
	assert_int_equal(maps_read(scene->pid, &scene->maps, &err), 0);
	assert_int_equal(symbols_new(scene->pid, &scene->symbols), 0);
	assert_int_equal(symbols_update(scene->symbols, scene->maps), 0);
	scene->world = (struct world){
		.pid = scene->pid,
		.memory = { .context = scene, .read = read_mem },
		.maps = scene->maps,
		.symbols = scene->symbols,
	};
	assert_int_equal(resolver_new(&scene->world, &scene->resolver), 0);
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	kill(scene->pid, SIGKILL);
	waitpid(scene->pid, NULL, 0);
	resolver_free(scene->resolver);
	symbols_free(scene->symbols);
	maps_free(scene->maps);
	close(scene->mem);
	close(scene->input);
	fclose(scene->output);
	return 0;
}

/* What jmap tells: "NUMBER: COUNT BYTES CLASS (MODULE)" */
static void ask_jmap(struct scene *scene)
{
	char command[64], line[1024], name[512];
	FILE *jmap;
	long count;

	snprintf(command, sizeof(command), "jmap -histo %d", scene->pid);
	jmap = popen(command, "r");
	assert_non_null(jmap);
	while (fgets(line, sizeof(line), jmap)) {
		struct count *c = &scene->count[scene->classes];

		if (sscanf(line, "%*d: %ld %*d %511s", &count, name) != 2 ||
		    strchr(name, '/'))
			continue;
		assert_true(++scene->classes < CLASSES);
		hotspot_pretty(name, c->name, sizeof(c->name));
		c->count = count;
	}
	assert_int_equal(pclose(jmap), 0);
}

static int add_object(void *context, const struct component *object)
{
	struct scene *scene = context;

	if (strcmp(object->runtime, "hotspot") != 0)
		return 0;
	if (++scene->objects % 16 == 0 && scene->samples < SAMPLES) {
		scene->sample[scene->samples] = object->start;
		scene->size[scene->samples++] = object->size;
	}
	for (size_t i = 0; i < scene->classes; i++)
		if (!strcmp(scene->count[i].name, object->name)) {
			scene->count[i].found++;
			break;
		}
	return 0;
}

/* In pieces, as mappings are that were split. */
static void scan(struct scene *scene, const char *class)
{
	enum { PIECE = 1 << 20 };

	for (size_t i = 0; i < scene->maps->count; i++) {
		const struct mapping *m = &scene->maps->mapping[i];

		if (m->shared || !(m->prot & PROT_WRITE))
			continue;
		for (uint64_t at = m->start; at < m->end; at += PIECE)
			assert_int_equal(
				resolver_objects(scene->resolver, at,
						 min_u64(at + PIECE, m->end),
						 class, add_object, scene),
				0);
	}
}

/* jmap itself makes some objects more. */
static void test_histogram(void **state)
{
	struct scene *scene = *state;
	int wrong = 0;

	ask_jmap(scene);
	assert_true(scene->classes > 100);
	resolver_epoch(scene->resolver);
	scan(scene, "*");
	assert_true(scene->objects > 10000);
	for (size_t i = 0; i < scene->classes; i++) {
		const struct count *c = &scene->count[i];
		long off = labs(c->found - c->count);

		if (off <= 8 || off * 100 <= c->count)
			continue;
		print_error("%s: %ld, jmap has %ld\n", c->name, c->found,
			    c->count);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void test_class(void **state)
{
	struct scene *scene = *state;

	resolver_epoch(scene->resolver);
	scene->objects = 0;
	scan(scene, "Truth$Nod?");
	assert_int_equal(scene->objects, 64 * 2);
}

static int stop_at_truth(void *context, const char *name)
{
	return !strcmp(name, "Truth$Node");
}

static void test_classes(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(resolver_classes(scene->resolver, stop_at_truth, NULL),
			 1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t median(uint64_t *ns, unsigned count)
{
	qsort(ns, count, sizeof(*ns), compare);
	return ns[count / 2];
}

/* The same object is found from a register, twice, and from its inside. */
static void test_resolve(void **state)
{
	struct scene *scene = *state;
	static uint64_t first[SAMPLES], again[SAMPLES], inside[SAMPLES];
	struct component by_register, by_region;
	unsigned lost = 0;

	for (unsigned i = 0; i < scene->samples; i++) {
		uint64_t start = scene->sample[i], began;
		struct query query = {
			.addr = start + scene->size[i] / 2,
			.size = 4,
			.candidates = { start },
			.ncandidates = 1,
		};

		resolver_epoch(scene->resolver);
		began = now();
		resolver_resolve(scene->resolver, &query, &by_register);
		first[i] = now() - began;
		began = now();
		resolver_resolve(scene->resolver, &query, &by_register);
		again[i] = now() - began;
		assert_string_equal(by_register.kind, "object");
		assert_int_equal(by_register.confidence, CONFIDENCE_EXACT);
		assert_int_equal(by_register.start, start);
		query.ncandidates = 0;
		began = now();
		resolver_resolve(scene->resolver, &query, &by_region);
		inside[i] = now() - began;
		if (by_region.confidence == CONFIDENCE_EXACT) {
			lost++; /* "Java heap" */
			continue;
		}
		assert_int_equal(by_region.start, start);
		assert_string_equal(by_region.name, by_register.name);
	}
	assert_true(lost * 100 <= scene->samples);
	print_message("# %s: %u resolved: %ju ns, again %ju ns, without a "
		      "register %ju ns; %u not found there\n",
		      scene->options, scene->samples,
		      (uintmax_t)median(first, scene->samples),
		      (uintmax_t)median(again, scene->samples),
		      (uintmax_t)median(inside, scene->samples), lost);
}

static int run(const char *options, const char *directory)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_histogram, scene),
		cmocka_unit_test_prestate(test_class, scene),
		cmocka_unit_test_prestate(test_classes, scene),
		cmocka_unit_test_prestate(test_resolve, scene),
	};
	void *state = scene;
	int failed;

	if (!scene)
		return 1;
	scene->options = options;
	scene->directory = directory;
	set_up(&state);
	failed = cmocka_run_group_tests_name(options, tests, NULL, NULL);
	tear_down(&state);
	free(scene);
	return failed;
}

int main(int argc, char **argv)
{
	static const char *const options[] = {
		"-XX:+UseSerialGC",
		"-XX:+UseG1GC -XX:-UseCompressedOops",
		"-XX:+UseParallelGC -XX:-UseCompressedClassPointers",
	};
	char directory[] = "/tmp/cls-java-XXXXXX", command[256];
	int failed = 0;

	if (argc != 2 || system("javac -version >/dev/null 2>&1") != 0)
		return SKIP_ALL;
	if (!mkdtemp(directory))
		return 1;
	snprintf(command, sizeof(command), "javac -d %s '%s'", directory,
		 argv[1]);
	failed = system(command);
	for (size_t i = 0; !failed && i < ARRAY_SIZE(options); i++)
		failed = run(options[i], directory);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return system(command) || failed;
}
