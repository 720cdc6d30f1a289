/* SPDX-License-Identifier: MIT */
/*
 * The functions by which a program tells its unwinder of code that it makes itself. Each notes what it is told and
 * jumps on, so that what the unwinder allocates has the program as its caller. Which unwinder that is, is asked each
 * time: it may come with a plug-in. Without one there is nobody to tell.
 */
#include <stddef.h>

#include "elfsym.h"
#include "export.h"
#include "frametables.h"

EXPORT void __register_frame(void *begin);
EXPORT void __register_frame_table(void *begin);
EXPORT void __register_frame_info(const void *begin, void *object);
EXPORT void __register_frame_info_bases(const void *begin, void *object, void *text, void *data);
EXPORT void __register_frame_info_table(void *begin, void *object);
EXPORT void __register_frame_info_table_bases(void *begin, void *object, void *text, void *data);
EXPORT void __deregister_frame(void *begin);
EXPORT void *__deregister_frame_info(const void *begin);
EXPORT void *__deregister_frame_info_bases(const void *begin);

void __register_frame(void *begin)
{
	void (*const next)(void *) = elfsym_next("__register_frame");

	frametables_add(begin, false);
	if (next)
		next(begin);
}

void __register_frame_table(void *begin)
{
	void (*const next)(void *) = elfsym_next("__register_frame_table");

	frametables_add(begin, true);
	if (next)
		next(begin);
}

void __register_frame_info(const void *begin, void *object)
{
	void (*const next)(const void *, void *) = elfsym_next("__register_frame_info");

	frametables_add(begin, false);
	if (next)
		next(begin, object);
}

void __register_frame_info_bases(const void *begin, void *object, void *text, void *data)
{
	void (*const next)(const void *, void *, void *, void *) = elfsym_next("__register_frame_info_bases");

	frametables_add(begin, false);
	if (next)
		next(begin, object, text, data);
}

void __register_frame_info_table(void *begin, void *object)
{
	void (*const next)(void *, void *) = elfsym_next("__register_frame_info_table");

	frametables_add(begin, true);
	if (next)
		next(begin, object);
}

void __register_frame_info_table_bases(void *begin, void *object, void *text, void *data)
{
	void (*const next)(void *, void *, void *, void *) = elfsym_next("__register_frame_info_table_bases");

	frametables_add(begin, true);
	if (next)
		next(begin, object, text, data);
}

void __deregister_frame(void *begin)
{
	void (*const next)(void *) = elfsym_next("__deregister_frame");

	frametables_remove(begin);
	if (next)
		next(begin);
}

void *__deregister_frame_info(const void *begin)
{
	void *(*const next)(const void *) = elfsym_next("__deregister_frame_info");

	frametables_remove(begin);
	return next ? next(begin) : NULL;
}

void *__deregister_frame_info_bases(const void *begin)
{
	void *(*const next)(const void *) = elfsym_next("__deregister_frame_info_bases");

	frametables_remove(begin);
	return next ? next(begin) : NULL;
}
