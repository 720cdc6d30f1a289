/* SPDX-License-Identifier: MIT */
#include "refusal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int __attribute__((format(printf, 3, 0)))
set(struct refusal *refusal, enum refusal_status status, const char *format, va_list list)
{
	free(refusal->text);
	*refusal = (struct refusal){ .status = status };
	if (vasprintf(&refusal->text, format, list) >= 0)
		return EINVAL;
	refusal->text = NULL;
	return ENOMEM;
}

int refusal_set(struct refusal *refusal, enum refusal_status status, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	const int error = set(refusal, status, format, list);
	va_end(list);
	return error;
}

int refusal_bad_value(struct refusal *refusal, const char *option, const char *value, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	char *why;
	const int n = vasprintf(&why, format, list);
	va_end(list);
	if (n < 0)
		return ENOMEM;
	const int error = refusal_set(refusal, REFUSAL_MASSIF, "Bad option: --%s=%s\n%s\n" REFUSAL_USE_HELP,
				      option, value, why);
	free(why);
	return error;
}

int refusal_unknown_option(struct refusal *refusal, const char *option, const char *value)
{
	return refusal_set(refusal, REFUSAL_MASSIF, "Unknown option: --%s=%s\n" REFUSAL_USE_HELP, option,
			   value);
}

int refusal_value(struct refusal *refusal, const char *option, const char *value, const char *what)
{
	return refusal_set(refusal, REFUSAL_USAGE, "--%s=%s: %s", option, value, what);
}

void refusal_finish(struct refusal *refusal)
{
	free(refusal->text);
	*refusal = (struct refusal){ 0 };
}
