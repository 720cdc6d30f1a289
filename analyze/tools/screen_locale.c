/* SPDX-License-Identifier: MIT */
#include "screen_locale.h"

#include <langinfo.h>
#include <locale.h>
#include <string.h>

void screen_locale_enter(void)
{
	setlocale(LC_CTYPE, "");
}

void screen_locale_leave(void)
{
	setlocale(LC_CTYPE, "C");
}

bool screen_locale_is_utf8(void)
{
	screen_locale_enter();
	const bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	screen_locale_leave();
	return utf8;
}
