/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every instruction of a list, made by generate.py, performed by us and by
 * the processor on random state.
 *
 *	corpus [-t TIMES] [-e EVERY] [-s SEED] LIST
 *
 * Each EVERYth instruction is tried TIMES times.  Exit status: 0 all agree,
 * 1 something does not, 77 there is no ptrace here.
 */
#include <signal.h>
#include <string.h>

#include "tests/corpus/touch.h"
#include "tests/unit/aim.h"

enum {
	SKIP = 77,
	FAMILIES = 64,
	AIMS = 400, /* tries to get a state that the instruction can use */
	COMPLAINTS = 40,
	TOUCHES = 2, /* of TIMES are looked at by page rights, too */
};

struct family {
	char name[32];
	unsigned encodings, absent, stepped;
};

struct corpus {
	struct scene scene;
	struct family family[FAMILIES];
	unsigned families;
	unsigned times, every;
	unsigned tries, done, faults, declined, checks, wrong, lines;
};

/* One line of the list. */
struct entry {
	char family[32], text[128];
	uint8_t bytes[INSN_BYTES];
	uint8_t length;
};

static bool parse(char *line, struct entry *entry)
{
	char hex[2 * INSN_BYTES + 1];
	unsigned byte;

	*entry = (struct entry){ 0 };
	if (sscanf(line, "%31[^\t]\t%30[^\t]\t%127[^\n]", entry->family, hex,
		   entry->text) != 3)
		return false;
	for (; sscanf(hex + 2 * entry->length, "%2x", &byte) == 1;
	     entry->length++)
		entry->bytes[entry->length] = byte;
	return entry->length > 0;
}

static struct family *find_family(struct corpus *corpus, const char *name)
{
	for (unsigned i = 0; i < corpus->families; i++)
		if (!strcmp(corpus->family[i].name, name))
			return &corpus->family[i];
	if (corpus->families == FAMILIES)
		return NULL;
	strcpy(corpus->family[corpus->families].name, name);
	return &corpus->family[corpus->families++];
}

static void complain(struct corpus *corpus, const struct entry *entry,
		     const char *what)
{
	if (corpus->wrong++ >= COMPLAINTS)
		return;
	printf("WRONG %s:", entry->text);
	for (unsigned i = 0; i < entry->length; i++)
		printf(" %02x", corpus->scene.insn.bytes[i]);
	printf(": %s\n", what);
}

/* Known not to be performed: see execute.h. */
static bool may_decline(const struct insn *insn)
{
	if (insn->kind == INSN_STACK)
		return insn->operand16 || insn->opcode == 0xc8 ||
		       insn->opcode == 0xff || insn->opcode == 0x9d;
	return insn->implied || insn->kind == INSN_STEP ||
	       insn->kind == INSN_NONE;
}

static void judge(struct corpus *corpus, const struct entry *entry)
{
	struct scene *scene = &corpus->scene;

	corpus->tries++;
	if (!scene_agrees(scene))
		complain(corpus, entry, scene->text);
	else if (scene->signal)
		corpus->faults++;
	else if (scene->result == EXECUTE_DONE)
		corpus->done++;
	else if (may_decline(&scene->insn))
		corpus->declined++;
	else
		complain(corpus, entry, "not performed");
}

/* One try; false if no state could be found for it. */
static bool try(struct corpus *corpus, const struct entry *entry)
{
	struct scene *scene = &corpus->scene;
	uint8_t bytes[INSN_BYTES];

	memset(bytes, 0x90, sizeof(bytes));
	memcpy(bytes, entry->bytes, entry->length);
	if (insn_decode(bytes, INSN_BYTES, &scene->insn) != 0 ||
	    scene->insn.length != entry->length)
		return false;
	scene_state(scene);
	if (!aim(scene, bytes))
		return false;
	scene_run(scene);
	return true;
}

static void touch(struct corpus *corpus, const struct entry *entry,
		  struct touch *touch)
{
	touch->checks = 0;
	if (!touch_agrees(touch, &corpus->scene))
		complain(corpus, entry, touch->text);
	corpus->checks += touch->checks;
}

/* TIMES tries, of which some are looked at by page rights. */
static void run(struct corpus *corpus, const struct entry *entry,
		struct family *family)
{
	struct scene *scene = &corpus->scene;
	struct touch seen = { 0 };
	unsigned touched = 0, before = corpus->wrong;

	family->encodings++;
	for (unsigned i = 0, n = 0;
	     n < corpus->times || (touched < TOUCHES && i < AIMS) ||
	     (seen.updated && !seen.depends && i < AIMS);
	     i++) {
		bool tried = try(corpus, entry);

		if (!tried && i >= AIMS) {
			complain(corpus, entry, "not decoded, or no operand");
			return;
		}
		if (!tried)
			continue;
		if (scene->signal == SIGILL) {
			family->absent++;
			return;
		}
		n++;
		judge(corpus, entry);
		if (corpus->wrong != before)
			return;
		if (scene->signal == 0 &&
		    (touched++ < TOUCHES || (seen.updated && !seen.depends)))
			touch(corpus, entry, &seen);
	}
	family->stepped += scene->insn.kind == INSN_STEP;
	if (!touched)
		complain(corpus, entry, "never without a signal");
	if (seen.updated && !seen.depends)
		complain(corpus, entry, "written, but not read");
}

static void run_list(struct corpus *corpus, FILE *list)
{
	char line[512];
	struct entry entry;

	while (fgets(line, sizeof(line), list)) {
		struct family *family = NULL;

		if (corpus->lines++ % corpus->every)
			continue;
		if (parse(line, &entry))
			family = find_family(corpus, entry.family);
		if (family)
			run(corpus, &entry, family);
		else if (corpus->wrong++ < COMPLAINTS)
			printf("WRONG line %u\n", corpus->lines);
	}
}

static void report(const struct corpus *corpus)
{
	unsigned encodings = 0, absent = 0, stepped = 0;

	for (unsigned i = 0; i < corpus->families; i++) {
		const struct family *f = &corpus->family[i];

		printf("%-16s %5u encodings, %4u stepped, %4u left out: not "
		       "of this processor\n",
		       f->name, f->encodings, f->stepped, f->absent);
		encodings += f->encodings;
		absent += f->absent;
		stepped += f->stepped;
	}
	printf("%u encodings, %u stepped, %u left out; %u tries: %u performed, "
	       "%u faults, %u declined; %u looked at by page rights; %u "
	       "mismatches\n",
	       encodings, stepped, absent, corpus->tries, corpus->done,
	       corpus->faults, corpus->declined, corpus->checks, corpus->wrong);
}

int main(int argc, char **argv)
{
	static struct corpus corpus = { .times = 10, .every = 1 };
	_cleanup_(fclosep) FILE *list = NULL;
	unsigned seed = 1;
	int option;

	while ((option = getopt(argc, argv, "t:e:s:")) != -1) {
		if (option == 't')
			corpus.times = strtoul(optarg, NULL, 10);
		else if (option == 'e')
			corpus.every = strtoul(optarg, NULL, 10);
		else if (option == 's')
			seed = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	list = fopen(argc > optind ? argv[optind] : "", "re");
	if (!list || !corpus.every) {
		fprintf(stderr, "corpus: no list\n");
		return 2;
	}
	if (scene_new(&corpus.scene, seed) < 0) {
		fprintf(stderr, "corpus: ptrace is not allowed here\n");
		return SKIP;
	}
	run_list(&corpus, list);
	scene_done(&corpus.scene);
	report(&corpus);
	return corpus.wrong || !corpus.done;
}
