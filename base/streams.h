/* SPDX-License-Identifier: MIT */
/*
 * Descriptors 0 to 2, by which people are told things: a command that is started without one of them would give its
 * number to the next file, and write messages into it.
 */
#ifndef BASE_STREAMS_H
#define BASE_STREAMS_H

/*
 * Once, before any file is opened: what is closed gets a stand-in that refuses what it was for. Programs that are
 * executed find it closed, as the command did.
 */
void streams_hold(void);

#endif
