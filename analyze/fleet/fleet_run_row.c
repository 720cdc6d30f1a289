/* SPDX-License-Identifier: MIT */
#include "fleet_run_row.h"

#include <stdlib.h>
#include <string.h>

#include "fleet_key.h"

#define NS_PER_MS 1000000u

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Labels that are no columns. */
static bool is_other(const char *key)
{
	return strcmp(key, "service") != 0 && strcmp(key, "version") != 0 && strcmp(key, "host") != 0;
}

/* "key=value,key=value", to be freed; NULL: no memory. */
static char *join(const struct fleet_labels *labels)
{
	char *text = calloc(FLEET_LABELS_MOST, (size_t)2 * FLEET_LABEL_BYTES + 2), *to = text;
	for (size_t i = 0; text && i < labels->n; i++) {
		if (!is_other(labels->items[i].key))
			continue;
		if (to > text)
			*to++ = ',';
		to = stpcpy(to, labels->items[i].key);
		*to++ = '=';
		to = stpcpy(to, labels->items[i].value);
	}
	return text;
}

/*
 * The key says which recording it is, whatever its labels: by when and as which process it began, and by what it came to,
 * since a recording of another tool knows neither. There the labels "run" and "host" tell equal ones apart.
 */
static uint64_t make_key(const struct report *r, const struct fleet_labels *labels,
			 const uint64_t totals[FLEET_FIGURES])
{
	const struct mst_file_info *info = mst_reader_info(r->reader);
	const char *run = fleet_labels_find(labels, "run"), *host = fleet_labels_find(labels, "host");
	uint64_t key = fleet_key_number(FLEET_KEY_BASIS, info->start_ns);
	key = fleet_key_number(key, info->pid);
	key = fleet_key_number(key, r->begin_ns);
	key = fleet_key_text(key, run ? run : "");
	key = fleet_key_text(key, host && info->start_ns == 0 ? host : "");
	for (uint32_t i = 0; i < info->argc; i++)
		key = fleet_key_text(key, info->argv[i]);
	for (unsigned i = 0; i < FLEET_BYTE_SECONDS; i++)
		key = fleet_key_number(key, totals[i]);
	return fleet_key_end(key);
}

static const char *or_nothing(const char *text)
{
	return text ? text : "";
}

bool fleet_run_texts_make(struct fleet_run_texts *t, const struct report *r,
			  const struct fleet_labels *labels, const uint64_t totals[FLEET_FIGURES])
{
	const struct mst_file_info *info = mst_reader_info(r->reader);
	const char *service = fleet_labels_find(labels, "service");
	uint32_t threads;
	*t = (struct fleet_run_texts){ .program = report_command_line(r), .labels = join(labels) };
	mst_reader_threads(r->reader, &threads);
	t->run = (struct fleet_run){
		.key = make_key(r, labels, totals),
		.started_ms = info->start_ns ? (info->start_ns + r->begin_ns) / NS_PER_MS : 0,
		.service = service ? service : last_part(or_nothing(info->exe)),
		.version = or_nothing(fleet_labels_find(labels, "version")),
		.host = or_nothing(fleet_labels_find(labels, "host")),
	};
	/* A program's name can be longer than a label may be; such a one names no service. */
	if (strlen(t->run.service) > FLEET_LABEL_BYTES)
		t->run.service = "";
	t->row = (struct fleet_run_row){
		.labels = t->labels,
		.program = t->program,
		.duration_ms = (r->end_ns - r->begin_ns) / NS_PER_MS,
		.threads = threads,
		.lost = r->ended ? r->end.lost : 0,
		.resident = mst_reader_peak_resident(r->reader),
		.sample_bytes = info->sample_bytes,
	};
	return t->program && t->labels;
}

void fleet_run_texts_finish(struct fleet_run_texts *t)
{
	free(t->program);
	free(t->labels);
}
