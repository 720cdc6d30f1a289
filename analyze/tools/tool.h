/* SPDX-License-Identifier: MIT */
/*
 * Shared by the mains of the analysing tools: options, exit statuses, messages on standard error, and the way from a
 * trace's name to a finished replay. It prints, as the mains do; code outside of tools/ doesn't.
 */
#ifndef ANALYZE_TOOL_H
#define ANALYZE_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <argp.h>

#include "args.h"
#include "mstrace.h"
#include "observer.h"
#include "symbols.h"

enum tool_status {
	TOOL_COMPLETE = 0,
	TOOL_PARTIAL = 1, /* the trace is damaged or cut; the result covers the intact part */
	TOOL_NO_RESULT = 2,
	TOOL_USAGE = 64, /* also: a request that this trace cannot answer */
};

static inline bool tool_has_result(int status)
{
	return status == TOOL_COMPLETE || status == TOOL_PARTIAL;
}

struct tool {
	const char *name;
	int verbosity;     /* -1 quiet, 0 notices, 1 more, 2 also Massif's snapshots */
	unsigned jobs;     /* threads that decode; 0: as many as there are processors */
	bool any_end;      /* no notice if the end of the process is unknown */
	bool no_ends;      /* no notice how processes ended: the result says it */
	bool no_stacks;    /* no result shows stacks, so no notice if they were cut */
	bool noticed;      /* a replay of the whole trace has printed progress and notices */
	struct args args;  /* Massif's options */
	struct args *also; /* those of each --also */
	size_t n_also;
	const char **symbol_dirs;
	size_t n_symbol_dirs;
};

/* Help groups in which a tool may put options of its own. */
enum tool_group { TOOL_GROUP_OUTPUT = 40, TOOL_GROUP_MEMUSAGE = 45, TOOL_GROUP_DIAGNOSTICS = 50 };

/* The options that all tools have, Massif's among them; its input is a struct tool. */
extern const struct argp tool_argp;

/* Call before opening any file. False: no memory. */
bool tool_init(struct tool *tool, const char *name);
void tool_finish(struct tool *tool);

/*
 * Parses a command line; `argp` has tool_argp as a child, `input` is for its parser. Words of the
 * environment variable `variable` (NULL = none) come first. Returns 0, or after a message the exit
 * status; a usage error that argp finds exits by itself with TOOL_USAGE. The words of the command
 * line must live as long as the tool; *words is what to free then.
 */
int tool_parse(struct tool *tool, const struct argp *argp, int argc, char **argv, const char *variable,
	       void *input, char ***words);

/* One line behind the tool's name. */
void tool_error(const struct tool *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * The same for a failure to read the open input `name`, an errno. Values that read() never sets come from the
 * temporary file into which the input was copied.
 */
void tool_input_error(const struct tool *tool, const char *name, int error);
/* Prints each line of a text as an error. */
void tool_error_lines(const struct tool *tool, const char *text);
/* Like tool_error(), but silent with -q. */
void tool_notice(const struct tool *tool, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the notices of symbols_notice(). */
void tool_symbol_notices(const struct tool *tool, const struct symbols *symbols);

struct tool_trace {
	const char *name; /* for messages */
	int fd;
	int origin;    /* descriptor of the input: `fd`, or the file that was imported */
	int64_t start; /* its offset in the file; -1: not seekable */
	struct mst_reader *reader;
};

/* "-" is standard input. False after a message: no readable trace. If a mark is asked for, as tool_open_file(). */
bool tool_open(const struct tool *tool, struct tool_trace *trace, const char *path);
/* The same, but what comes through a pipe is copied to a file without a name, which can be read more than once. */
bool tool_open_file(const struct tool *tool, struct tool_trace *trace, const char *path);
/* The same for a descriptor, which the trace owns even on failure. */
bool tool_open_fd(const struct tool *tool, struct tool_trace *trace, const char *name, int fd);
/* The same for one that may still grow; see mst_reader_follow(). The trace's descriptors are set when `more` is called. */
bool tool_open_growing(const struct tool *tool, struct tool_trace *trace, const char *name, int fd,
		       bool (*more)(void *context), void *context);
void tool_close(struct tool_trace *trace);

/*
 * Checks that the trace holds what the tool's settings and those of --also need, and resolves the default time unit.
 * False after a message: something is missing.
 */
bool tool_settle(struct tool *tool, const struct tool_trace *trace);

/*
 * The same after the replay, for a property that only the kinds show: true after a message if the settings need the
 * usable sizes of the program's allocator and the trace lacks them.
 */
bool tool_lacks_usable(const struct tool *tool, const struct tool_trace *trace,
		       const struct settings *settings);

/* Whether msrec still writes the file. FORMAT.md, section 11, says how it shows. */
bool tool_is_growing(const struct tool_trace *trace);

/* Number of threads that decode. */
unsigned tool_jobs(const struct tool *tool);

/*
 * Replays with progress on a terminal, then prints what the recorder and the reader noticed: a killed
 * program, losses, damage. Returns a tool_status; if tool_has_result() the observers have one.
 */
enum tool_status tool_replay(const struct tool *tool, const struct tool_trace *trace,
			     struct observer **observers, size_t n);

/* The name of an output file comes from a pattern with %p, %q{VAR}, %n and %%, by Massif's rules. */
struct outname {
	uint32_t pid;      /* %p: id of the recorded process, not of this one */
	unsigned sequence; /* %n: numbers given so far; the next one is sequence + 1 */
};

/*
 * Returns the name, for the caller to free. NULL: *why is Massif's explanation, of one or more lines, for the caller
 * to free; NULL: no memory.
 */
char *outname_expand(struct outname *outname, const char *pattern, char **why);

/*
 * The same for the value of `option`, with messages. NULL after a message: *status is the exit status, 1 where
 * Massif's is.
 */
char *tool_out_name(const struct tool *tool, const char *option, const char *pattern, struct outname *outname,
		    int *status);

#endif
