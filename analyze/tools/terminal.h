/* SPDX-License-Identifier: MIT */
/* A terminal that shows mstop's screens and gives its keys. Only one at a time. */
#ifndef ANALYZE_TERMINAL_H
#define ANALYZE_TERMINAL_H

#include <stdbool.h>

#include "top_screen.h"

#define TERMINAL_NO_KEY (-1)
#define TERMINAL_RESIZED (-2)

/* Takes over standard output; keys come from standard input, or /dev/tty if that is no terminal. NULL, or why it cannot. */
const char *terminal_open(bool colours);
/* Restores it. */
void terminal_close(void);

void terminal_size(unsigned *rows, unsigned *columns);

void terminal_draw(const struct top_screen *screen);

/* The next key: a character, enum top_key, or one of the values above. Waits up to `ms`. */
int terminal_key(int ms);

#endif
