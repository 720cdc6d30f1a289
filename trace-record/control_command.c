/* SPDX-License-Identifier: MIT */
#include "control_command.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "control_client.h"
#include "launch.h"
#include "messages.h"
#include "printable.h"

#define ANSWER_MS 10000 /* a full disk can keep msrec from answering */
#define WHOLE_MS 60000  /* until names are in a file */
#define NOT_DONE 1

static const struct verb {
	const char *name;
	enum control_op op;
	bool takes_text, alone; /* a text; and no process id: all recordings */
} verbs[] = {
	{ "mark", CONTROL_MARK, true, false },      { "on", CONTROL_ON, false, false },
	{ "off", CONTROL_OFF, false, false },       { "snapshot", CONTROL_SNAPSHOT, false, false },
	{ "rotate", CONTROL_ROTATE, false, false }, { "stop", CONTROL_STOP, false, false },
	{ "status", CONTROL_STATUS, false, true },
};

static const struct verb *find_verb(const char *word)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(word, verbs[i].name) == 0)
			return &verbs[i];
	}
	return NULL;
}

bool control_command_is(int argc, char **argv)
{
	return argc > 1 && find_verb(argv[1]);
}

static void print(const struct control_reply *reply, void *context)
{
	(void)context;
	printable_lines(stdout, reply->text, reply->bytes);
}

/* 0, or msrec's exit status after a message. */
static int read_words(int argc, char **argv, const struct verb *verb, struct control_request *request)
{
	const char *text = verb->takes_text ? argc > 3 ? argv[3] : verb->name : "";

	*request = (struct control_request){ .magic = CONTROL_MAGIC, .op = verb->op };
	if (argc > (verb->takes_text ? 4 : 3) || (argc == 2 && !verb->alone) ||
	    (argc > 2 && !control_client_parse_pid(argv[2], &request->pid))) {
		complain(
			"%s needs the id of a recorded process%s ('msrec -- %s ...' runs a program of that name)",
			verb->name, verb->takes_text ? ", and takes one text" : "", verb->name);
		return LAUNCH_FAILED;
	}
	if (strlen(text) >= sizeof(request->text)) {
		complain("%s: a text has at most %zu bytes", verb->name, sizeof(request->text) - 1);
		return LAUNCH_FAILED;
	}
	memcpy(request->text, text, strlen(text) + 1);
	return 0;
}

int control_command_run(int argc, char **argv)
{
	static struct control_question question = { .answer_ms = ANSWER_MS,
						    .whole_ms = WHOLE_MS,
						    .each = print };
	const struct control_reply *const reply = &question.reply;
	int status = read_words(argc, argv, find_verb(argv[1]), &question.request);
	char why[160];

	if (status)
		return status;
	if (!control_client_ask(&question)) {
		if (question.request.pid != CONTROL_ALL)
			complain("%s", control_client_explain(&question, why, sizeof(why)));
		return question.request.pid == CONTROL_ALL && !question.silent ? 0 : NOT_DONE;
	}
	if (reply->status == CONTROL_REFUSED) {
		fputs("msrec: ", stderr);
		printable_lines(stderr, reply->text, reply->bytes);
		return NOT_DONE;
	}
	print(reply, NULL);
	return 0;
}
