/* SPDX-License-Identifier: MIT */
/*
 * The standard streams. A command that is started with one of the descriptors 0 to 2 closed would give its number to
 * the next file that it opens, and write messages into that file.
 */
#ifndef BASE_STREAMS_H
#define BASE_STREAMS_H

/*
 * Call once, before any file is opened: a closed descriptor gets a stand-in that refuses its use. Executed programs
 * find it closed, as the command did.
 */
void streams_hold(void);

#endif
