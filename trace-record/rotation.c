/* SPDX-License-Identifier: MIT */
#include "rotation.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

#define END_SHARE 1000u /* index and end take less than a thousandth ... */
#define END_BYTES 4096u /* ... and this much */
#define LOOKS 128u      /* at a file, if a record took a byte */
#define BATCH_MIN 512u
#define BATCH_MAX 65536u
#define RECORD_BYTES 2u /* a record rarely takes more */

void rotation_finish(struct rotation *rotation)
{
	for (uint32_t i = 0; i < rotation->n; i++)
		free(rotation->paths[i]);
	free(rotation->paths);
	free(rotation->first);
}

bool rotation_is_first(const struct rotation *rotation, const char *path)
{
	return !rotation->first || strcmp(path, rotation->first) == 0;
}

bool rotation_is_due(struct rotation *rotation, uint64_t bytes, uint64_t most)
{
	const uint64_t grown = bytes > rotation->bytes ? bytes - rotation->bytes : 0;

	if (grown > rotation->growth)
		rotation->growth = grown;
	rotation->bytes = bytes;
	if (most < 2 * rotation->initial)
		most = 2 * rotation->initial;
	return bytes + 2 * rotation->growth + rotation_batch(most) * RECORD_BYTES + bytes / END_SHARE +
		       END_BYTES >
	       most;
}

uint32_t rotation_batch(uint64_t most)
{
	const uint64_t records = most / LOOKS;

	if (!most)
		return 0;
	return records < BATCH_MIN ? BATCH_MIN : records > BATCH_MAX ? BATCH_MAX : (uint32_t)records;
}

void rotation_begin(struct rotation *rotation, uint64_t initial)
{
	rotation->initial = rotation->bytes = initial;
	rotation->growth /= 2; /* the largest growth may have been an exception */
}

static bool note(struct rotation *rotation, const char *path)
{
	if (!array_reserve(&rotation->paths, rotation->n, &rotation->capacity, sizeof(*rotation->paths)))
		return false;
	rotation->paths[rotation->n] = strdup(path);
	if (!rotation->paths[rotation->n])
		return false;
	rotation->n++;
	return true;
}

static void drop_oldest(struct rotation *rotation, struct file_set *files)
{
	file_set_remove(files, rotation->paths[0]);
	free(rotation->paths[0]);
	memmove(rotation->paths, rotation->paths + 1, --rotation->n * sizeof(*rotation->paths));
}

char *rotation_next(struct rotation *rotation, struct file_set *files, const char *path, uint32_t keep)
{
	char *name;

	if (!rotation->first)
		rotation->first = strdup(path);
	if (!rotation->first || (keep && !note(rotation, path)))
		return NULL;
	if (!rotation->files)
		rotation->files = 1;
	while (keep && rotation->n >= keep)
		drop_oldest(rotation, files);
	return asprintf(&name, "%s.%u", rotation->first, ++rotation->files) < 0 ? NULL : name;
}
