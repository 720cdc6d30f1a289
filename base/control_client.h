/* SPDX-License-Identifier: MIT */
/*
 * Asks the msrecs of this machine that record something, through their sockets (control_message.h): those of the
 * caller's own user, for root those of any. Single-threaded.
 */
#ifndef BASE_CONTROL_CLIENT_H
#define BASE_CONTROL_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "control_message.h"

#define CONTROL_NAME_SIZE 108 /* of a socket's name, with its NUL */

struct control_question {
	struct control_request request; /* control_client_ask() sets `magic` */
	int answer_ms;                  /* how long the recordings are waited for */
	int whole_ms; /* and how long, after its answer, until a file that was asked for is whole; 0: not at all */
	/* Of CONTROL_ALL: called with each answer, as they come. */
	void (*each)(const struct control_reply *reply, void *context);
	void *context;
	/* Results. */
	bool silent;                  /* a recording did not answer */
	char name[CONTROL_NAME_SIZE]; /* of the socket that answered last */
	struct control_reply reply;   /* the last one */
};

/* Asks all recordings at once. True: one has the process; `reply` says what became of the request. */
bool control_client_ask(struct control_question *question);

/* Sends a request to the socket of that name, and does not wait for an answer. False: it could not be sent. */
bool control_client_tell(const char *name, const struct control_request *request);

/* Why no recording has the process. Returns `text`. */
const char *control_client_explain(const struct control_question *question, char *text, size_t size);

/* A process id from a command line. */
bool control_client_parse_pid(const char *word, int32_t *pid);

#endif
