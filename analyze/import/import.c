/* SPDX-License-Identifier: MIT */
#include "import.h"

#include "mstrace.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT(name) &import_##name,
const struct importer *const importers[] = {
#include "import_formats.h"
	NULL,
};
#undef FORMAT

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

int import_end(struct import *import, enum line_reader_result result)
{
	if (result == LINE_READER_NOMEM)
		import->problem = mst_strerror(MST_ERR_NOMEM);
	if (result == LINE_READER_TOO_LONG)
		import->problem = "a line that is too long";
	if (result == LINE_READER_CUT)
		import->warning = "it is cut or damaged; what is before that is used";
	return result == LINE_READER_END || result == LINE_READER_CUT ? 0 : -1;
}

int import_refuse(struct import *import, const char *problem)
{
	import->problem = problem;
	return -1;
}

int import_check(struct import *import, int error)
{
	return error ? import_refuse(import, error == MST_ERR_IO ? NULL : mst_strerror(error)) : 0;
}

bool import_reserve(void *items, uint32_t n, uint32_t *room, size_t size, uint32_t most)
{
	void **array = items;
	if (n < *room)
		return true;
	const uint32_t wanted = *room < most / 2 ? *room * 2 + 256 : most;
	void *grown = wanted > n ? reallocarray(*array, wanted, size) : NULL;
	if (!grown)
		return false;
	*array = grown;
	*room = wanted;
	return true;
}
