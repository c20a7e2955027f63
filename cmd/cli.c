/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>

#include "base/buffer.h"
#include "cmd/choice.h"
#include "disasm/access.h"
#include "tracer/event/log.h"

/* Values of long options in getopt_long(3), beyond every letter. */
enum { NAMED = 256 };

const char *cli_name(enum cli_command command)
{
	return command == CLI_RUN ? "clsrun" : "clsattach";
}

static void help_choice(const struct choice *choice, FILE *out)
{
	char letter[4] = { '-', choice->letter };
	char left[32];

	snprintf(left, sizeof(left), "%s%s%s%s%s", choice->letter ? letter : "",
		 choice->letter && choice->name ? ", " : "",
		 choice->name ? "--" : "", choice->name ? choice->name : "",
		 choice->argument);
	fprintf(out, "  %-22s %s\n", left, choice->help);
}

void cli_help(enum cli_command command, FILE *out)
{
	if (command == CLI_RUN)
		fputs("Usage: clsrun [OPTION]... [--] PROGRAM [ARG]...\n"
		      "Run a program and print which objects it touches, as "
		      "JSON lines.\n",
		      out);
	else
		fputs("Usage: clsattach [OPTION]... -p PID\n"
		      "Print which objects a running process touches, as JSON "
		      "lines.\n",
		      out);
	for (size_t i = 0; i < NCHOICES; i++)
		if (choices[i].help && (choices[i].commands & command))
			help_choice(&choices[i], out);
	fputs("SPEC: SYMBOL  LIB:SYMBOL  0xADDR+LEN  0xADDR..0xADDR  "
	      "class:GLOB\n"
	      "      map:heap  map:data  map:bss  map:stack  map:anon\n"
	      "      map:PATHGLOB; "
	      "none: all objects\n",
	      out);
	if (command == CLI_RUN)
		fputs("Exit status: the program's; 125 not traced, 126 not "
		      "executable, 127 not found.\n",
		      out);
	else
		fputs("Exit status: 0, or 125 if it cannot be traced.\n", out);
	fprintf(out, "See also: man %s\n", cli_name(command));
}

/* What getopt_long(3) wants, made from the table. */
struct grammar {
	char letters[2 + 3 * NCHOICES + 1];
	struct option names[NCHOICES + 1];
};

static void grammar_fill(struct grammar *grammar, enum cli_command command)
{
	struct option *name = grammar->names;
	char *letter = grammar->letters;

	memset(grammar, 0, sizeof(*grammar));
	/* +: the program's own options are its own; ":": we say what is bad */
	*letter++ = '+';
	*letter++ = ':';
	for (int i = 0; i < NCHOICES; i++) {
		const struct choice *choice = &choices[i];

		if (!(choice->commands & command))
			continue;
		if (choice->letter) {
			*letter++ = choice->letter;
			/* an optional one is of the long name only */
			if (choice->takes == required_argument)
				*letter++ = ':';
		}
		if (choice->name)
			*name++ = (struct option){ choice->name, choice->takes,
						   NULL, NAMED + i };
	}
}

static const struct choice *choice_of(int value)
{
	if (value >= NAMED && value < NAMED + NCHOICES)
		return &choices[value - NAMED];
	for (size_t i = 0; i < NCHOICES; i++)
		if (value && choices[i].letter == value)
			return &choices[i];
	return NULL;
}

/* getopt_long() gave '?' or ':' and left in optopt what it stumbled over. */
static int refuse(enum cli_command command, int answer, const char *text,
		  struct error *err)
{
	const struct choice *choice = choice_of(optopt);

	if (answer == ':' && optopt < NAMED)
		return error_set(err, -EINVAL, "-%c needs an argument: -%c%s",
				 optopt, optopt, choice->argument);
	if (answer == ':')
		return error_set(err, -EINVAL, "--%s needs an argument: --%s%s",
				 choice->name, choice->name, choice->argument);
	if (optopt >= NAMED)
		return error_set(err, -EINVAL, "--%s takes no argument",
				 choice->name);
	if (optopt)
		return error_set(err, -EINVAL,
				 "there is no option -%c: %s --help lists them",
				 optopt, cli_name(command));
	return error_set(err, -EINVAL,
			 "there is no option %s, or it is short for several: "
			 "%s --help lists them",
			 text, cli_name(command));
}

static int parse_options(struct cli *cli, int argc, char **argv,
			 struct error *err)
{
	struct grammar grammar;
	int c, r;

	grammar_fill(&grammar, cli->command);
	optind = 0; /* glibc: start anew, also for a second command line */
	opterr = 0;
	while ((c = getopt_long(argc, argv, grammar.letters, grammar.names,
				NULL)) != -1) {
		if (c == '?' || c == ':')
			return refuse(cli->command, c, argv[optind - 1], err);
		r = choice_of(c)->set(cli, optarg, err);
		if (r < 0)
			return r;
		if (cli->show)
			return (int)cli->show;
	}
	return 0;
}

/* What stands after the options. */
static int parse_rest(struct cli *cli, int argc, char **argv, struct error *err)
{
	const char *rest = optind < argc ? argv[optind] : NULL;

	if (cli->command == CLI_RUN) {
		if (!rest || !*rest)
			return error_set(err, -EINVAL,
					 "which program? clsrun [options] "
					 "[--] program [args]");
		cli->program = argv + optind;
		return 0;
	}
	if (rest)
		return error_set(err, -EINVAL,
				 "%s: nothing stands after the options; the "
				 "process is named with -p PID",
				 rest);
	if (!cli->pid)
		return error_set(err, -EINVAL,
				 "which process? clsattach [options] -p PID");
	return 0;
}

/* It takes one look, and sees no access. */
static int check_list(const struct cli *cli, struct error *err)
{
	const struct options *o = &cli->options;

	if (!o->list)
		return 0;
	for (size_t i = 0; i < o->nwatches; i++)
		if (strncmp(cli->watches[i], "class:", 6) != 0)
			return error_set(err, -EINVAL,
					 "-w %s: --list lists objects: choose "
					 "them with -w class:GLOB",
					 cli->watches[i]);
	if (o->on != ACCESS_RW || o->policy != POLICY_DEFAULT || o->stacks ||
	    o->no_run_ahead || o->no_syscalls || o->max_events ||
	    o->duration > 0 || o->survive || o->exit_kill || o->follow ||
	    o->births_exact)
		return error_set(err, -EINVAL,
				 "--list looks once, at what is there: it "
				 "takes no option but -p, -w class:GLOB, "
				 "--runtime, -o, -q and -v");
	return 0;
}

/* It guards all memory, and between slices nothing. */
static int check_births(const struct cli *cli, struct error *err)
{
	const struct options *o = &cli->options;
	bool has_class = false;

	if (!o->births_exact)
		return 0;
	for (size_t i = 0; i < o->nwatches; i++)
		has_class |= !strncmp(cli->watches[i], "class:", 6);
	if (!has_class)
		return error_set(err, -EINVAL,
				 "--births=exact finds new objects of a class: "
				 "say which with -w class:GLOB");
	if (o->policy == POLICY_FIRST || o->policy == POLICY_SAMPLE)
		return error_set(err, -EINVAL,
				 "--births=exact sees every access, not some: "
				 "leave --first and --sample out");
	return 0;
}

/* A log for each process needs a name for each. */
static int name_logs(struct cli *cli, struct error *err)
{
	char *output;

	if (cli->options.follow != FOLLOW_LOG_EACH)
		return 0;
	if (!cli->output)
		return error_set(err, -EINVAL,
				 "-ff writes a log for each process: name them "
				 "with -o FILE, in which %%p is the number of "
				 "the process");
	if (log_is_numbered(cli->output))
		return 0;
	if (asprintf(&output, "%s.%%p", cli->output) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	free(cli->output);
	cli->output = output;
	return 0;
}

int cli_parse(struct cli *cli, enum cli_command command, int argc, char **argv,
	      struct error *err)
{
	int r;

	*cli = (struct cli){
		.command = command,
		.options = {
			.on = ACCESS_RW,
			.depth = CLI_DEPTH,
			.exit_kill = command == CLI_RUN,
			.command_line = (const char *const *)argv,
		},
	};
	/* Each argument holds at most one -w. */
	cli->watches = calloc((size_t)argc + 1, sizeof(*cli->watches));
	if (!cli->watches)
		return error_set(err, -ENOMEM, "out of memory");

	r = parse_options(cli, argc, argv, err);
	if (r)
		return r;
	cli->options.watches = cli->watches;
	r = check_list(cli, err);
	if (r == 0)
		r = check_births(cli, err);
	if (r < 0)
		return r;
	r = name_logs(cli, err);
	if (r < 0)
		return r;
	cli->options.output = cli->output;
	return parse_rest(cli, argc, argv, err);
}

void cli_done(struct cli *cli)
{
	free(cli->watches);
	free(cli->output);
	*cli = (struct cli){ .command = cli->command };
}

int cli_streams(const struct cli *cli, struct error *err)
{
	for (int want = 0; want <= STDERR_FILENO; want++) {
		int fd;

		if (fcntl(want, F_GETFD) >= 0)
			continue;
		if (want == STDOUT_FILENO && !cli->options.output)
			return error_set(err, -EBADF,
					 "standard output is closed, and the "
					 "log would go there: use -o FILE");
		/* All below are taken, so this gets the number wanted. */
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return error_set(err, -errno,
					 "descriptor %d is closed, and "
					 "/dev/null cannot be opened for it: "
					 "%s",
					 want, strerror(errno));
	}
	return 0;
}

/* Names and arguments are of somebody else: no escape sequences, one line. */
void cli_say(const struct cli *cli, const char *format, ...)
{
	struct error line;
	va_list args;

	va_start(args, format);
	vsnprintf(line.text, sizeof(line.text), format, args);
	va_end(args);
	for (char *c = line.text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	fprintf(stderr, "%s: %s\n", cli_name(cli->command), line.text);
}

void cli_say_unmatched(const struct cli *cli, const struct outcome *outcome)
{
	if (outcome->unmatched && cli->options.verbose >= 0)
		cli_say(cli, "nothing that matches -w %s ever came",
			outcome->unmatched);
}

static int show(const struct cli *cli)
{
	if (cli->show == CLI_HELP)
		cli_help(cli->command, stdout);
	else
		printf("%s %s\n", cli_name(cli->command), CLS_VERSION);
	if (!fflush(stdout))
		return EXIT_SUCCESS;
	cli_say(cli, "cannot write to standard output: %s", strerror(errno));
	return TRACER_FAILED;
}

int cli_begin(struct cli *cli, enum cli_command command, int argc, char **argv)
{
	struct error err = { 0 };
	int r;

	r = cli_parse(cli, command, argc, argv, &err);
	if (r > 0)
		return show(cli);
	if (r == 0)
		r = cli_streams(cli, &err);
	if (r < 0) {
		cli_say(cli, "%s", err.text);
		return TRACER_FAILED;
	}
	return -1;
}
