/* SPDX-License-Identifier: MIT */
/* msconvert: write a trace in another format, or what others recorded as a trace. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conversion.h"
#include "import.h"
#include "number.h"
#include "outfile.h"
#include "tool.h"

#define NAME "msconvert"

const char *argp_program_version = NAME " " MSREC_VERSION;

#define TRACE "trace" /* the format that needs no emitter */
#define TRACE_SUFFIX ".zst"
#define COPY_BYTES 65536

enum { KEY_TO = 0x3000, KEY_FROM, KEY_TICK_RATE, KEY_EMBED_SYMBOLS };

struct command {
	struct tool tool;
	const char *to;              /* NULL: guess */
	const struct importer *from; /* NULL: the input is a trace */
	uint64_t tick_rate;
	bool embed_symbols;
	const char *output; /* NULL: as --massif-out-file says, by default standard output */
	const char *input;
};

static const struct argp_option options[] = {
	{ "to", KEY_TO, "FORMAT", 0, "format to write, or 'help' for a list (by the name of the output)",
	  TOOL_GROUP_OUTPUT },
	{ "from", KEY_FROM, "FORMAT", 0, "format of INPUT, 'help' for a list (a trace)", TOOL_GROUP_OUTPUT },
	{ "tick-rate", KEY_TICK_RATE, "HZ", 0,
	  "ticks a second of the clock in INPUT, if that doesn't tell (1000000000)", TOOL_GROUP_OUTPUT },
	{ "embed-symbols", KEY_EMBED_SYMBOLS, NULL, 0,
	  "write a trace that has the names of its frames in it, to be read where no program is",
	  TOOL_GROUP_OUTPUT },
	{ "output", 'o', "FILE", 0, "write FILE; - is standard output (-)", TOOL_GROUP_OUTPUT },
	{ 0 },
};

static const char doc[] =
	"Convert a heap trace recorded by msrec to another format, or what another program recorded. INPUT "
	"may be - for standard input if it is a trace."
	"\v"
	"Exit status: 0 complete result; 1 partial result (damaged or cut trace), or a value that "
	"Massif would have refused; 2 no result; 64 wrong usage.";

static const struct argp_child children[] = { { &tool_argp, 0, NULL, 0 }, { 0 } };

static int list_formats(void)
{
	for (const struct emitter *const *e = emitters; *e; e++)
		printf("%-12s %-10s %s\n", (*e)->name, (*e)->suffix, (*e)->help);
	printf("%-12s %-10s %s\n", TRACE, TRACE_SUFFIX, "with --from or --embed-symbols: the trace itself");
	return fflush(stdout) == 0 ? TOOL_COMPLETE : TOOL_NO_RESULT;
}

static int list_sources(void)
{
	for (const struct importer *const *i = importers; *i; i++)
		printf("%-12s %s\n", (*i)->name, (*i)->help);
	return fflush(stdout) == 0 ? TOOL_COMPLETE : TOOL_NO_RESULT;
}

static uint64_t parse_rate(struct argp_state *state, const char *value)
{
	int64_t rate = 0;
	if (!*value || !number_integer(value, &rate) || rate <= 0)
		argp_error(state, "--tick-rate=%s: should be a number above 0", value);
	return (uint64_t)rate;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct command *command = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &command->tool;
		return 0;
	case KEY_TO:
		if (strcmp(value, "help") == 0)
			exit(list_formats());
		command->to = value;
		return 0;
	case KEY_FROM:
		if (strcmp(value, "help") == 0)
			exit(list_sources());
		command->from = importer_find(value);
		if (!command->from)
			argp_error(state, "--from=%s: no such format (--from=help lists them)", value);
		return 0;
	case KEY_TICK_RATE:
		command->tick_rate = parse_rate(state, value);
		return 0;
	case KEY_EMBED_SYMBOLS:
		command->embed_symbols = true;
		return 0;
	case 'o':
		command->output = value;
		return 0;
	case ARGP_KEY_ARG:
		if (command->input)
			argp_error(state, "more than one input: %s", value);
		command->input = value;
		return 0;
	case ARGP_KEY_END:
		if (!command->input)
			argp_error(state, "which input?");
		if (command->embed_symbols && command->from)
			argp_error(
				state,
				"--embed-symbols is about traces of msrec; what --from reads has no frames");
		if (command->embed_symbols && command->to && strcmp(command->to, TRACE) != 0)
			argp_error(state, "--embed-symbols writes a trace, not --to=%s", command->to);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.args_doc = "INPUT",
	.doc = doc,
	.children = children,
};

/* Massif's own file names have their distinction in front. */
static const char *guess_format(const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	if (strncmp(base, "massif.out", strlen("massif.out")) == 0)
		return "massif";
	size_t length = strlen(base);
	for (const struct emitter *const *e = emitters; *e; e++) {
		size_t suffix = strlen((*e)->suffix);
		if (length > suffix && strcmp(base + length - suffix, (*e)->suffix) == 0)
			return (*e)->name;
	}
	return NULL;
}

/* NULL after a message. */
static const struct emitter *choose_emitter(const struct command *command, const char *output)
{
	const char *format = command->to ? command->to : guess_format(output);
	if (!format) {
		tool_error(&command->tool,
			   "%s: the name tells no format; use --to=FORMAT "
			   "(--to=help lists them)",
			   strcmp(output, "-") == 0 ? "standard output" : output);
		return NULL;
	}
	const struct emitter *emitter = emitter_find(format);
	if (!emitter)
		tool_error(&command->tool, "--to=%s: no such format (--to=help lists them)", format);
	else if (emitter->binary && strcmp(output, "-") == 0 && isatty(STDOUT_FILENO)) {
		tool_error(&command->tool, "%s is not text and goes to no terminal; use -o FILE", format);
		return NULL;
	}
	return emitter;
}

static int convert(struct command *command, const struct tool_trace *trace)
{
	struct conversions plan;
	int status = conversions_plan(&plan, &command->tool, trace, command->output);
	if (status == 0) {
		const struct emitter *emitter = choose_emitter(command, plan.items[0].name);
		status = emitter && tool_settle(&command->tool, trace)
				 ? conversions_run(&plan, &command->tool, trace, emitter)
				 : (int)TOOL_USAGE;
	}
	conversions_finish(&plan);
	return status;
}

/* ---- Imported traces ------------------------------------------------------------------------ */

/* A trace of the input in a file without a name; -1 after a message. */
static int import_input(const struct command *command)
{
	const struct tool *tool = &command->tool;
	struct import import = { .name = command->input,
				 .tick_rate = command->tick_rate,
				 .from = open(command->input, O_RDONLY | O_CLOEXEC),
				 .to = -1 };
	if (import.from < 0) {
		tool_error(tool, "%s: %s", command->input, strerror(errno));
		return -1;
	}
	import.to = outfile_unnamed();
	if (import.to < 0)
		tool_error(tool, "temporary file: %s", strerror(errno));
	else if (command->from->read(&import) != 0 || lseek(import.to, 0, SEEK_SET) != 0) {
		tool_error(tool, "%s: %s", command->input, import.problem ? import.problem : strerror(errno));
		close(import.to);
		import.to = -1;
	}
	close(import.from);
	return import.to;
}

static bool is_trace_wanted(const struct command *command)
{
	const char *name = command->output ? command->output : "";
	size_t length = strlen(name), suffix = strlen(TRACE_SUFFIX);
	if (command->to)
		return strcmp(command->to, TRACE) == 0;
	return command->from && length > suffix && strcmp(name + length - suffix, TRACE_SUFFIX) == 0;
}

/* 0 or a negative errno. */
static int copy(int from, int to)
{
	static char buffer[COPY_BYTES];
	struct out *out = out_create(to);
	if (!out)
		return -ENOMEM;
	ssize_t n;
	while ((n = read(from, buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR))
		out_write(out, buffer, n > 0 ? (size_t)n : 0);
	if (n < 0)
		out_fail(out, errno);
	return -out_finish(out);
}

static int write_trace(const struct command *command, int fd)
{
	const char *name = command->output ? command->output : "-";
	struct outfile file;
	int error = strcmp(name, "-") == 0 && isatty(STDOUT_FILENO) ? -EINVAL : outfile_begin(&file, name);
	if (!error) {
		error = copy(fd, file.fd);
		if (error)
			outfile_abort(&file);
		else
			error = outfile_commit(&file);
	}
	if (!error)
		return TOOL_COMPLETE;
	tool_error(&command->tool, "%s: %s", strcmp(name, "-") == 0 ? "standard output" : name,
		   strerror(-error));
	return TOOL_NO_RESULT;
}

/* What is done with the trace of an input that was none. */
static int run_import(struct command *command)
{
	struct tool_trace trace;
	int fd = import_input(command);
	if (fd < 0)
		return TOOL_NO_RESULT;
	if (command->from->notice)
		tool_notice(&command->tool, "%s: %s", command->input, command->from->notice);
	int status;
	if (is_trace_wanted(command)) {
		status = write_trace(command, fd);
		close(fd);
		return status;
	}
	if (!tool_open_fd(&command->tool, &trace, command->input, fd))
		return TOOL_NO_RESULT;
	status = convert(command, &trace);
	tool_close(&trace);
	return status;
}

/* ---- Names in traces ------------------------------------------------------------------------ */

/* The trace in a file without a name, with the names of its frames. */
static int embed(const struct command *command, const struct tool_trace *trace, int from, int *to)
{
	const struct tool *tool = &command->tool;
	struct naming *naming = naming_create(trace->reader, tool->symbol_dirs, tool->n_symbol_dirs);
	const struct mst_end *end = mst_reader_end(trace->reader);
	struct mst_writer *writer = NULL;
	int error = naming ? 0 : MST_ERR_NOMEM;
	*to = outfile_unnamed();
	if (!error)
		error = *to < 0 ? MST_ERR_IO
				: mst_writer_extend(&writer, *to, from,
						    mst_reader_sound_bytes(trace->reader));
	if (!error)
		error = naming_embed(naming, writer);
	/* Without an end the result stays what the trace is: cut. */
	if (!error)
		error = end ? mst_writer_finish(writer, end) : mst_writer_flush(writer);
	if (!error)
		tool_symbol_notices(tool, naming_symbols(naming));
	mst_writer_destroy(writer);
	naming_destroy(naming);
	return error;
}

static int write_embedded(const struct command *command, const struct tool_trace *trace, int from)
{
	enum tool_status status = tool_replay(&command->tool, trace, NULL, 0);
	if (status == TOOL_NO_RESULT)
		return status;
	int to, error = embed(command, trace, from, &to);
	if (!error && lseek(to, 0, SEEK_SET) != 0)
		error = MST_ERR_IO;
	if (error)
		tool_error(&command->tool, "%s: %s", trace->name,
			   error == MST_ERR_IO ? strerror(errno) : mst_strerror(error));
	int written = error ? (int)TOOL_NO_RESULT : write_trace(command, to);
	if (to >= 0)
		close(to);
	return written ? written : (int)status;
}

/* A descriptor of the input that can be read twice; -1 after a message. */
static int open_twice(const struct command *command)
{
	bool is_stdin = strcmp(command->input, "-") == 0;
	int fd = is_stdin ? dup(STDIN_FILENO) : open(command->input, O_RDONLY | O_CLOEXEC), spooled;
	if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0 && errno == ESPIPE) {
		spooled = outfile_unnamed();
		int error = spooled < 0 ? -errno : copy(fd, spooled);
		close(fd);
		if (error && spooled >= 0)
			close(spooled);
		fd = error ? -1 : spooled;
		errno = -error;
	}
	if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0)
		tool_error(&command->tool, "%s: %s", is_stdin ? "standard input" : command->input,
			   strerror(errno));
	return fd;
}

static int run_embedding(const struct command *command)
{
	struct tool_trace trace;
	int fd = open_twice(command), copied = fd < 0 ? -1 : dup(fd);
	if (copied < 0)
		return TOOL_NO_RESULT;
	int status = TOOL_NO_RESULT;
	const char *name = strcmp(command->input, "-") == 0 ? "standard input" : command->input;
	if (tool_open_fd(&command->tool, &trace, name, fd)) {
		status = write_embedded(command, &trace, copied);
		tool_close(&trace);
	}
	close(copied);
	return status;
}

static int run(struct command *command)
{
	struct tool_trace trace;
	if (command->from)
		return run_import(command);
	if (command->embed_symbols)
		return run_embedding(command);
	if (is_trace_wanted(command)) {
		tool_error(&command->tool,
			   "--to=" TRACE ": %s is a trace; --from tells if it is none, "
			   "--embed-symbols writes another",
			   command->input);
		return TOOL_USAGE;
	}
	if (!tool_open(&command->tool, &trace, command->input))
		return TOOL_NO_RESULT;
	int status = convert(command, &trace);
	tool_close(&trace);
	return status;
}

int main(int argc, char **argv)
{
	struct command command = { .tick_rate = 1000000000 };
	if (!tool_init(&command.tool, NAME) || !args_set_out_file(&command.tool.args, "-")) {
		fputs(NAME ": out of memory\n", stderr);
		return TOOL_NO_RESULT;
	}
	char **words;
	int status = tool_parse(&command.tool, &argp, argc, argv, NULL, &command, &words);
	if (status == 0)
		status = run(&command);
	free(words);
	tool_finish(&command.tool);
	return status;
}
