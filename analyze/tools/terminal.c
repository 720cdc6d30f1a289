/* SPDX-License-Identifier: MIT */
#include "terminal.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <ncurses.h>

#include "screen_locale.h"

#define ESCAPE_MS 25 /* after which Escape is a key, and no beginning of a sequence */

enum { PAIR_TITLE = 1, PAIR_MESSAGE, PAIR_KEYS };

static struct {
	SCREEN *screen;
	FILE *keys; /* NULL: standard input */
	bool colours;
} terminal;

static void begin_colours(bool colours)
{
	terminal.colours = colours && has_colors() && start_color() == OK;
	if (!terminal.colours)
		return;
	use_default_colors();
	init_pair(PAIR_TITLE, COLOR_CYAN, -1);
	init_pair(PAIR_MESSAGE, COLOR_YELLOW, -1);
	init_pair(PAIR_KEYS, COLOR_GREEN, -1);
}

static const char *open_screen(bool colours)
{
	FILE *keys = stdin;
	if (!isatty(STDIN_FILENO)) {
		keys = terminal.keys = fopen("/dev/tty", "re");
		if (!keys)
			return "there is no terminal to read keys from";
	}
	terminal.screen = newterm(NULL, stdout, keys);
	if (!terminal.screen) {
		if (terminal.keys)
			fclose(terminal.keys);
		terminal.keys = NULL;
		return "the terminal is not known ($TERM)";
	}
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	begin_colours(colours);
	return NULL;
}

const char *terminal_open(bool colours)
{
	screen_locale_enter();
	const char *why = open_screen(colours);
	screen_locale_leave();
	return why;
}

void terminal_close(void)
{
	if (!terminal.screen)
		return;
	endwin();
	delscreen(terminal.screen);
	terminal.screen = NULL;
	if (terminal.keys)
		fclose(terminal.keys);
	terminal.keys = NULL;
}

void terminal_size(unsigned *rows, unsigned *columns)
{
	*rows = LINES > 0 ? (unsigned)LINES : 1;
	*columns = COLS > 0 ? (unsigned)COLS : 1;
}

static attr_t style_of(enum top_style style)
{
	switch (style) {
	case TOP_TITLE:
		return A_BOLD | (terminal.colours ? (attr_t)COLOR_PAIR(PAIR_TITLE) : 0);
	case TOP_HEADER:
		return A_BOLD | A_UNDERLINE;
	case TOP_SELECTED:
		return A_REVERSE;
	case TOP_MESSAGE:
		return terminal.colours ? (attr_t)COLOR_PAIR(PAIR_MESSAGE) : A_BOLD;
	case TOP_KEYS:
		return terminal.colours ? (attr_t)COLOR_PAIR(PAIR_KEYS) : A_DIM;
	case TOP_PLAIN:
		break;
	}
	return A_NORMAL;
}

void terminal_draw(const struct top_screen *screen)
{
	screen_locale_enter();
	erase();
	for (uint32_t i = 0; i < screen->n && (int)i < LINES; i++) {
		const struct top_line *line = &screen->lines[i];
		attrset(style_of(line->style));
		if (line->text)
			mvaddstr((int)i, 0, line->text);
		if (line->style == TOP_SELECTED)
			mvchgat((int)i, 0, -1, A_REVERSE, 0, NULL);
	}
	attrset(A_NORMAL);
	refresh();
	screen_locale_leave();
}

/* Without a terminal no key comes, and no wait for one lasts. */
static bool is_gone(void)
{
	struct pollfd keys = { .fd = terminal.keys ? fileno(terminal.keys) : STDIN_FILENO, .events = POLLIN };
	return poll(&keys, 1, 0) > 0 && keys.revents & (POLLHUP | POLLERR | POLLNVAL);
}

int terminal_key(int ms)
{
	timeout(ms);
	const int key = getch();
	switch (key) {
	case ERR:
		return is_gone() ? 'q' : TERMINAL_NO_KEY;
	case KEY_RESIZE:
		return TERMINAL_RESIZED;
	case KEY_UP:
		return TOP_KEY_UP;
	case KEY_DOWN:
		return TOP_KEY_DOWN;
	case KEY_LEFT:
		return TOP_KEY_LEFT;
	case KEY_RIGHT:
		return TOP_KEY_RIGHT;
	case KEY_PPAGE:
		return TOP_KEY_PAGE_UP;
	case KEY_NPAGE:
		return TOP_KEY_PAGE_DOWN;
	case KEY_HOME:
		return TOP_KEY_HOME;
	case KEY_END:
		return TOP_KEY_END;
	case KEY_ENTER:
		return TOP_KEY_ENTER;
	}
	return key;
}
