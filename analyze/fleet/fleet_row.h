/* SPDX-License-Identifier: MIT */
/*
 * The columns of a run's summary. All parts of a run are rows of one table, so that an engine takes a run as a whole or
 * not at all. Columns keep their names and places; a new one comes last, and fleet_schema.c says how to add it to tables
 * that exist.
 */
#ifndef ANALYZE_FLEET_ROW_H
#define ANALYZE_FLEET_ROW_H

#include "table.h"

enum { FLEET_SCHEMA = 1 };

/* What a row is about. */
enum fleet_part {
	FLEET_RUN,
	FLEET_TIME,
	FLEET_SIZE,
	FLEET_SITE,
	FLEET_FUNCTION,
	FLEET_FRAME,
	FLEET_STACK,
	FLEET_PARTS
};

/* By enum fleet_part: "run" ... */
extern const char *const fleet_parts[FLEET_PARTS];

enum fleet_figure {
	FLEET_PEAK_BYTES, /* live at the run's peak; of a bucket its highest level */
	FLEET_PEAK_BLOCKS,
	FLEET_END_BYTES, /* live at the end; of a bucket at its end */
	FLEET_END_BLOCKS,
	FLEET_ALLOC_BYTES,
	FLEET_ALLOC_BLOCKS,
	FLEET_BYTE_SECONDS, /* of parts run, time and site */
	FLEET_FIGURES
};

/* What all rows of a run begin with. */
struct fleet_run {
	uint64_t key;
	uint64_t started_ms; /* since 1970; 0: not known */
	const char *service, *version, *host;
};

/* Texts that are longer than a row allows are cut. */
struct fleet_row {
	enum fleet_part part;
	uint64_t key;      /* 0: what is left out, together */
	uint64_t function; /* its function's key; 0: none */
	const char *name, *module, *build_id, *file, *path;
	int line;
	uint64_t from, until; /* milliseconds of a bucket, bytes of a size class */
	uint64_t figures[FLEET_FIGURES];
	const char *verdict;
	uint64_t growth; /* bytes an hour, if the verdict says that it grows */
};

/* Of the row of a run alone. */
struct fleet_run_row {
	const char *labels, *program;
	uint64_t duration_ms, threads, lost, resident, sample_bytes, rows;
};

extern const struct parquet_column fleet_columns[];

/* `of_run`: NULL of all rows but the run's. */
void fleet_row_write(struct table *table, const struct fleet_run *run, const struct fleet_row *row,
		     const struct fleet_run_row *of_run);

/* The bytes of the row as CSV. */
uint64_t fleet_row_size(struct out *counter, const struct fleet_run *run, const struct fleet_row *row);

#endif
