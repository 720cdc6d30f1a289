/* SPDX-License-Identifier: MIT */
/*
 * Why a command line is refused: a text of one or more lines, and the exit status. Option parsers store it and return
 * EINVAL, which argp_parse() passes on without a message; the tool prints it, each line after its own name.
 */
#ifndef ANALYZE_REFUSAL_H
#define ANALYZE_REFUSAL_H

enum refusal_status {
	REFUSAL_MASSIF = 1, /* Massif refuses it, too: same text, same exit status */
	REFUSAL_USAGE = 64, /* a refusal of our own */
};

/* The last line of each refusal that mirrors Massif's. */
#define REFUSAL_USE_HELP "Use --help for more information or consult the user manual."

struct refusal {
	char *text; /* lines separated by '\n'; NULL: nothing is refused; owned */
	enum refusal_status status;
};

/* Each function sets the refusal and returns EINVAL, or ENOMEM without a text. */
int refusal_set(struct refusal *refusal, enum refusal_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* In Massif's words: the value of an option is bad, and why. */
int refusal_bad_value(struct refusal *refusal, const char *option, const char *value, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* In Massif's words: Massif compares some options with each known value, so a wrong value is an unknown option. */
int refusal_unknown_option(struct refusal *refusal, const char *option, const char *value);

/* In our words: what is wrong with the value of an option. */
int refusal_value(struct refusal *refusal, const char *option, const char *value, const char *what);

/* Frees the text. */
void refusal_finish(struct refusal *refusal);

#endif
