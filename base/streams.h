/* SPDX-License-Identifier: MIT */
/*
 * The standard streams. A command that is started with one of the descriptors 0 to 2 closed would give its number to
 * the next file that it opens, and write messages into that file. And a message may have a name in it, of a file or of a
 * program, that would take the terminal over.
 */
#ifndef BASE_STREAMS_H
#define BASE_STREAMS_H

#include <stdio.h>

/*
 * Call once, before any file is opened: a closed descriptor gets a stand-in that refuses its use. Executed programs
 * find it closed, as the command did. From then on `stderr` escapes what is written to it as printable.h says, but for
 * line ends: messages of the C library and of argp, too.
 */
void streams_hold(void);

#ifndef __GLIBC__
/* Elsewhere `stderr` is a constant, and this is what our own code writes to: meson.build includes this file everywhere. */
FILE *streams_messages(void);
#undef stderr
#define stderr streams_messages()
#endif

/* Standard error as it is, for text that means its control characters: progress and colours. */
FILE *streams_terminal(void);

#endif
