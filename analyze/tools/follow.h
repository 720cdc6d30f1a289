/* SPDX-License-Identifier: MIT */
/* Follows a trace that may still be recorded: a file that grows, or a pipe. */
#ifndef ANALYZE_FOLLOW_H
#define ANALYZE_FOLLOW_H

#include "control_client.h"
#include "tool.h"

struct follow {
	struct tool_trace trace;
	bool growing; /* it was still written at the last look */
	bool waits;   /* read on as it grows; else the present end is the end */
	/* Called where more bytes are awaited, for up to `ms`. False: the input ends here. NULL: wait. */
	bool (*idle)(void *context, int ms);
	void *context;
	/* Private. */
	bool is_pipe, was_last;
	int flags;                       /* of a pipe, as they were; -1: unchanged */
	uint64_t asked;                  /* when, in ms */
	int32_t pid;                     /* of the recorded process */
	char control[CONTROL_NAME_SIZE]; /* of its recording's socket; "": none */
};

uint64_t follow_now_ms(void);

/*
 * The members from `waits` to `context` are set. "-" is standard input. False after a message. Without `waits` msrec has
 * been asked for all that it holds back.
 */
bool follow_open(struct follow *follow, const struct tool *tool, const char *path);
void follow_close(struct follow *follow);

/*
 * Asks msrec to write what it holds back, as `msrec status` does, and waits for nothing. Some milliseconds later it is in
 * the file. Does nothing if msrec cannot be reached, or has been asked a moment ago.
 */
void follow_ask(struct follow *follow);

/* Where a process is recorded. */
struct follow_answer {
	char *path;      /* to be freed; NULL: `why` says why there is none */
	int32_t pid;     /* of the process */
	const char *why; /* a constant, or `text` */
	char text[160];
};

/* Asks for the recording of a process, or that of the one process that an msrec with this id records. */
bool follow_find(int32_t pid, struct follow_answer *answer);

/* All recordings that can be reached: lines "PID STATE PATH", to be freed. NULL: no memory. */
char *follow_list(void);

/* Splits off the next of these lines: its parts, in place. False: there is none. */
struct follow_line {
	int32_t pid;
	const char *state, *path;
};
bool follow_next_line(char **lines, struct follow_line *line);

#endif
