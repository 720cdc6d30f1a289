/* SPDX-License-Identifier: MIT */
/*
 * The functions by which a program registers frame tables of code that it makes itself. Each passes the table to
 * frametables.h and jumps on to the real function, so that allocations there have the program as their caller. The
 * real function is looked up each time, because the unwinder may come with a plug-in; there may be none.
 */
#include <stddef.h>

#include "elfsym.h"
#include "export.h"
#include "frametables.h"

#define REGISTER(name, list, parameters, ...)                                                                \
	EXPORT void name parameters;                                                                         \
	void name parameters                                                                                 \
	{                                                                                                    \
		void(*const next) parameters = elfsym_next(#name);                                           \
                                                                                                             \
		frametables_add(begin, list);                                                                \
		if (next)                                                                                    \
			next(__VA_ARGS__);                                                                   \
	}

#define DEREGISTER(name)                                                                                     \
	EXPORT void *name(const void *begin);                                                                \
	void *name(const void *begin)                                                                        \
	{                                                                                                    \
		void *(*const next)(const void *) = elfsym_next(#name);                                      \
                                                                                                             \
		frametables_remove(begin);                                                                   \
		return next ? next(begin) : NULL;                                                            \
	}

REGISTER(__register_frame, false, (void *begin), begin)
REGISTER(__register_frame_info, false, (const void *begin, void *object), begin, object)
REGISTER(__register_frame_info_bases, false, (const void *begin, void *object, void *text, void *data), begin,
	 object, text, data)
REGISTER(__register_frame_table, true, (void *begin), begin)
REGISTER(__register_frame_info_table, true, (void *begin, void *object), begin, object)
REGISTER(__register_frame_info_table_bases, true, (void *begin, void *object, void *text, void *data), begin,
	 object, text, data)
DEREGISTER(__deregister_frame_info)
DEREGISTER(__deregister_frame_info_bases)

EXPORT void __deregister_frame(void *begin);

void __deregister_frame(void *begin)
{
	void (*const next)(void *) = elfsym_next("__deregister_frame");

	frametables_remove(begin);
	if (next)
		next(begin);
}
