/* SPDX-License-Identifier: MIT */
/*
 * The user's locale, in which only screens are made and drawn. All else is in that of C: in another one fnmatch(3) takes
 * names that are no text in it for something else. ncurses asks setlocale(3), so the locale is that of the process.
 */
#ifndef ANALYZE_SCREEN_LOCALE_H
#define ANALYZE_SCREEN_LOCALE_H

#include <stdbool.h>

void screen_locale_enter(void);
void screen_locale_leave(void);

/* Whether its characters are UTF-8. */
bool screen_locale_is_utf8(void);

#endif
