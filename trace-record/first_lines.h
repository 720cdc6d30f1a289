/* SPDX-License-Identifier: MIT */
/*
 * What msreport says first about a finished trace: the sites that hold the peak, with names. msrec does not know what an
 * event means, nor names; it runs the msreport that is installed beside it, and gives it 0.2 s.
 */
#ifndef TRACE_RECORD_FIRST_LINES_H
#define TRACE_RECORD_FIRST_LINES_H

/*
 * Prints them on standard error. Prints nothing if there is no msreport, if it fails or if it is not done in time: then it
 * is killed.
 */
void first_lines_print(const char *path);

#endif
