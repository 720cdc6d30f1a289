/* SPDX-License-Identifier: MIT */
/* The tables of a fleet as SQL: what has the rows of all runs, and a view for each part. */
#ifndef ANALYZE_FLEET_SCHEMA_H
#define ANALYZE_FLEET_SCHEMA_H

struct out;

enum fleet_dialect { FLEET_CLICKHOUSE, FLEET_DUCKDB };

void fleet_schema_write(struct out *out, enum fleet_dialect dialect);

#endif
