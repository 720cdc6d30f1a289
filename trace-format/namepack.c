/* SPDX-License-Identifier: MIT */
/* The names side of the writer: each text once, each frame's names as numbers of texts. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "index_map.h"
#include "mst_limits.h"
#include "wire.h"
#include "writer.h"

#define UNIT_BYTES ((size_t)1 << 20) /* of a column, at which a unit is written */

struct name_packer {
	struct bytes all;  /* every text so far, with its NUL */
	uint32_t *offsets; /* in `all`, of text number i + 1 */
	uint32_t n_texts, capacity, written;
	struct hash_index index;
	struct index_map steady; /* numbers of texts by address, for callers whose texts stay */
	uint32_t frames;         /* in the columns */
	uint32_t last,
		next; /* frame of the entry before in this unit; the lowest that may come; last <= next */
	struct bytes columns[NAME_COLUMNS];
	bool any_full; /* in this unit */
};

/* ---- the feature bit ---- */

/* Sets the bit in the FILE unit that is already in the file, unless it is there. 0 or MST_ERR_IO. */
static int set_feature(struct mst_writer *w)
{
	uint8_t bytes[UNIT_HEADER_MAX];
	struct unit_header header;
	uint32_t size;

	if (w->features & FEATURE_NAMES)
		return 0;
	size = unit_read(w->output.fd, 0, bytes, &header);
	if (!size || header.fields_size < FIELDS_FILE)
		return MST_ERR_IO;
	bytes[UNIT_FIXED + FILE_FEATURES_AT] |= FEATURE_NAMES;
	wire_put_u32(bytes + size - 4, unit_crc(0, bytes, size - 4));
	return file_write_at(w->output.fd, UNIT_PREFIX, bytes, size) ? 0 : MST_ERR_IO;
}

/* ---- packing ---- */

static int packer_create(struct mst_writer *w)
{
	int err = mst_writer_flush(w);

	if (err || (err = writer_memory_unit(w)) || (err = set_feature(w)))
		return err;
	w->names = calloc(1, sizeof(*w->names));
	return w->names && hash_index_init(&w->names->index) ? 0 : MST_ERR_NOMEM;
}

void name_packer_destroy(struct name_packer *names)
{
	if (!names)
		return;
	bytes_free(&names->all);
	free(names->offsets);
	hash_index_finish(&names->index);
	index_map_finish(&names->steady);
	for (size_t i = 0; i < NAME_COLUMNS; i++)
		bytes_free(&names->columns[i]);
	free(names);
}

int name_packer_flush(struct mst_writer *w)
{
	struct name_packer *names = w->names;

	if (!names || (names->written == names->n_texts && names->frames == 0))
		return 0;
	bytes_u32(&w->fields, names->written + 1);
	bytes_u32(&w->fields, names->n_texts - names->written);
	bytes_u32(&w->fields, names->frames);
	if (!names->any_full)
		bytes_clear(&names->columns[COLUMN_FULL_NAMES]);
	names->any_full = false;
	for (size_t i = 0; i < NAME_COLUMNS; i++) {
		const struct bytes empty = w->columns[i];

		w->columns[i] = names->columns[i];
		names->columns[i] = empty;
	}
	names->written = names->n_texts;
	names->frames = names->last = 0;
	return writer_unit(w, UNIT_NAMES, 0, NAME_COLUMNS, 0, 0);
}

static int reserve_text(struct name_packer *names, size_t n)
{
	const uint32_t capacity = names->capacity * 2 + 256;
	uint32_t *offsets;

	if (names->n_texts >= MST_MAX_NAME_TEXTS - 1 || n > MST_MAX_TEXT ||
	    names->all.size + n + 1 > MST_MAX_NAME_BYTES)
		return MST_ERR_LIMIT;
	if (names->n_texts < names->capacity)
		return 0;
	offsets = realloc(names->offsets, capacity * sizeof(*offsets));
	if (!offsets)
		return MST_ERR_NOMEM;
	names->offsets = offsets;
	names->capacity = capacity;
	return 0;
}

/* The number of a text, by its content. */
static int intern_text(struct mst_writer *w, const char *text, uint32_t *number)
{
	struct name_packer *names = w->names;
	const size_t n = strlen(text);
	const uint32_t hash = hash_text(text, n);
	int err;

	if (!hash_index_reserve(&names->index))
		return MST_ERR_NOMEM;
	for (uint32_t i = hash_index_first(&names->index, hash), id;
	     hash_index_next(&names->index, hash, &i, &id);) {
		*number = id + 1;
		if (strcmp((const char *)names->all.data + names->offsets[id], text) == 0)
			return 0;
	}
	if ((err = reserve_text(names, n)) ||
	    (names->columns[COLUMN_TEXTS].size + n > UNIT_BYTES && (err = name_packer_flush(w))))
		return err;
	names->offsets[names->n_texts] = (uint32_t)names->all.size;
	bytes_append(&names->all, text, n + 1);
	if (names->all.failed)
		return MST_ERR_NOMEM;
	bytes_text(&names->columns[COLUMN_TEXTS], text);
	hash_index_add(&names->index, hash, names->n_texts);
	*number = ++names->n_texts;
	return 0;
}

/* The number of a text; 0 for NULL. */
static int text_number(struct mst_writer *w, const char *text, uint32_t *number)
{
	struct index_map *steady = &w->names->steady;
	uint64_t known = 0;
	int err;

	*number = 0;
	if (!text)
		return 0;
	if (w->steady_texts && index_map_find(steady, (uintptr_t)text, &known)) {
		*number = (uint32_t)known;
		return 0;
	}
	err = intern_text(w, text, number);
	if (!err && w->steady_texts)
		index_map_put(steady, (uintptr_t)text,
			      *number); /* without memory for it the text is compared again */
	return err;
}

static int pack_names(struct mst_writer *w, uint32_t frame, const struct mst_name *given, uint32_t n)
{
	struct name_packer *names = w->names;
	uint32_t(*texts)[4] = malloc(n * sizeof(*texts));
	int err = texts ? 0 : MST_ERR_NOMEM;

	/* Texts first, because a long one may write a unit, and the frame's entry belongs into the next. */
	for (uint32_t i = 0; i < n && !err; i++) {
		if (!(err = text_number(w, given[i].function, &texts[i][0])) &&
		    !(err = text_number(w, given[i].directory, &texts[i][1])) &&
		    !(err = text_number(w, given[i].file, &texts[i][2])))
			err = text_number(w, given[i].full, &texts[i][3]);
	}
	if (!err) {
		bytes_varint(&names->columns[COLUMN_NAMED], frame - names->last);
		bytes_varint(&names->columns[COLUMN_NAMED], n);
		for (uint32_t i = 0; i < n; i++) {
			for (size_t k = 0; k < 3; k++)
				bytes_varint(&names->columns[COLUMN_NAMES], texts[i][k]);
			bytes_varint(&names->columns[COLUMN_NAMES], given[i].line);
			bytes_varint(&names->columns[COLUMN_FULL_NAMES], texts[i][3]);
			names->any_full |= texts[i][3] != 0;
		}
		names->last = frame;
		names->next = frame + 1;
		names->frames++;
	}
	free(texts);
	if (!err && names->columns[COLUMN_NAMES].size + names->columns[COLUMN_NAMED].size > UNIT_BYTES)
		err = name_packer_flush(w);
	return err;
}

int mst_writer_names(struct mst_writer *w, uint32_t frame, const struct mst_name *names, uint32_t n)
{
	const uint32_t n_frames = w->frames_before + w->defs.frames.n;
	int err;

	if (w->error)
		return w->error;
	if (n == 0 || n > MST_MAX_NAMES || frame >= n_frames || (w->names && frame < w->names->next))
		return MST_ERR_ARGUMENT;
	w->due = 0; /* an error here must stop the next call */
	if (!w->names && (w->error = packer_create(w)))
		return w->error;
	err = pack_names(w, frame, names, n);
	/* Beyond a limit this frame goes without names. */
	return err == MST_ERR_LIMIT ? err : (w->error = err);
}

void mst_writer_steady_texts(struct mst_writer *w)
{
	w->steady_texts = true;
}
