/* SPDX-License-Identifier: MIT */
#include "import.h"

#include "mstrace.h"

#include <stddef.h>
#include <string.h>

const struct importer *const importers[] = { &import_heaptrack, &import_massif, &import_memusage,
					     &import_mtrace, NULL };

const struct importer *importer_find(const char *name)
{
	const struct importer *const *i = importers;

	while (*i && strcmp((*i)->name, name) != 0)
		i++;
	return *i;
}

const struct importer *importer_recognize(const char *head, size_t n)
{
	const struct importer *const *i = importers;

	while (*i && !((*i)->recognize && (*i)->recognize(head, n)))
		i++;
	return *i;
}

int import_end(struct import *import, enum unpack_result result)
{
	if (result == UNPACK_NOMEM)
		import->problem = mst_strerror(MST_ERR_NOMEM);
	if (result == UNPACK_TOO_LONG)
		import->problem = "a line that is too long";
	if (result == UNPACK_CUT)
		import->warning = "it is cut or damaged; what is before that is used";
	return result == UNPACK_END || result == UNPACK_CUT ? 0 : -1;
}
