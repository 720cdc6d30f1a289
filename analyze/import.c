/* SPDX-License-Identifier: MIT */
#include "import.h"

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
