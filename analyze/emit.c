/* SPDX-License-Identifier: MIT */
#include "emit.h"

#include <string.h>

const struct emitter *const emitters[] = { &emit_massif, &emit_callgrind, &emit_xtree, NULL };

const struct emitter *emitter_find(const char *name)
{
	const struct emitter *const *e = emitters;

	while (*e && strcmp((*e)->name, name) != 0)
		e++;
	return *e;
}
