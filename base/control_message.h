/* SPDX-License-Identifier: MIT */
/*
 * What `msrec mark PID` and its like say to the msrec that records a process, and what that answers: one message each, of a
 * socket for packets. Its abstract name is CONTROL_NAME, the user's id, and a random number.
 */
#ifndef BASE_CONTROL_MESSAGE_H
#define BASE_CONTROL_MESSAGE_H

#include <stdint.h>

#define CONTROL_MAGIC 0x317463636572736dull
#define CONTROL_NAME "msrec-"
#define CONTROL_ALL 0 /* for CONTROL_STATUS in place of a process id: all processes */

enum control_op {
	CONTROL_MARK = 1,
	CONTROL_SNAPSHOT,
	CONTROL_ROTATE,
	CONTROL_STOP,
	CONTROL_STATUS,
	CONTROL_ON,
	CONTROL_OFF,
};

struct control_request {
	uint64_t magic;
	uint32_t op;    /* enum control_op */
	int32_t pid;    /* a recorded process, or msrec itself: all processes that it records */
	char text[256]; /* of a mark, with its NUL */
};

enum control_status {
	CONTROL_DONE = 1,
	CONTROL_UNKNOWN,   /* the process is not recorded here */
	CONTROL_REFUSED,   /* the text says why */
	CONTROL_FORBIDDEN, /* by another user than root and msrec's */
};

#define CONTROL_TEXT 65000u

/* Sent up to the end of its text. */
struct control_reply {
	uint64_t magic;
	uint32_t status; /* enum control_status */
	uint32_t bytes;  /* of the text, without a NUL */
	char text[CONTROL_TEXT];
};

#endif
