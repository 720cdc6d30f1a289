/* SPDX-License-Identifier: MIT */
/* Of a build without ncurses: mstop prints its screens. */
#include "terminal.h"

const char *terminal_open(bool colours)
{
	(void)colours;
	return "this mstop was built without ncurses";
}

void terminal_close(void)
{
}

void terminal_size(unsigned *rows, unsigned *columns)
{
	*rows = *columns = 1;
}

void terminal_draw(const struct top_screen *screen)
{
	(void)screen;
}

int terminal_key(int ms)
{
	(void)ms;
	return TERMINAL_NO_KEY;
}
