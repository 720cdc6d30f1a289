/* SPDX-License-Identifier: MIT */
#include "fleet_schema.h"

#include "fleet_row.h"
#include "out.h"

/* A view: a part, or with `leaks` the sites of which there is a verdict, and its columns beside those of all. */
struct view {
	const char *name, *columns, *where;
};

#define OF_ALL "run, started_ms, service, version, host"
#define FIGURES "peak_bytes, peak_blocks, end_bytes, end_blocks, alloc_bytes, alloc_blocks"

static const struct view views[] = {
	{ "run",
	  FIGURES
	  ", byte_seconds, labels, program, duration_ms, threads, lost, resident, sample_bytes, rows, schema",
	  "part = 'run'" },
	{ "time", "start as from_ms, stop as until_ms, " FIGURES ", byte_seconds", "part = 'time'" },
	{ "size", "start as from_bytes, stop as until_bytes, " FIGURES, "part = 'size'" },
	{ "site", "key, name, module, build_id, file, line, " FIGURES ", byte_seconds, verdict, growth",
	  "part = 'site'" },
	{ "function", "key, name, module, build_id, " FIGURES, "part = 'function'" },
	{ "frame", "key, function, name, module, build_id, file, line, start as address, " FIGURES,
	  "part = 'frame'" },
	{ "stack", "key, function, name, path, " FIGURES, "part = 'stack'" },
	{ "leak", "key, name, module, file, line, end_bytes, end_blocks, verdict, growth",
	  "part = 'site' and verdict <> ''" },
};

static void write_columns(struct out *out, enum fleet_dialect dialect)
{
	const char *text = dialect == FLEET_CLICKHOUSE ? "String" : "varchar";
	const char *number = dialect == FLEET_CLICKHOUSE ? "UInt64" : "ubigint";
	for (const struct parquet_column *c = fleet_columns; c->name; c++)
		out_printf(out, "%s\n\t%s %s", c == fleet_columns ? "" : ",", c->name,
			   c->text ? text : number);
}

/* What engines keep of each site, version and day beside the rows: a table that inserts fill, or a view. */
static const char clickhouse_days[] =
	"create table if not exists fleet_day (\n"
	"\tservice String,\n\tversion String,\n\tday Date,\n\tkey String,\n\tname String,\n"
	"\t"
	"runs UInt64,\n\tpeak_bytes UInt64,\n\talloc_bytes UInt64,\n\tbyte_seconds UInt64\n"
	") engine = SummingMergeTree((runs, peak_bytes, alloc_bytes, byte_seconds))\n"
	"partition by toYYYYMM(day)\norder by (service, version, day, key);\n"
	"create materialized view if not exists fleet_day_insert to fleet_day as\n"
	"\tselect service, version, toDate(intDiv(started_ms, 86400000)) as day, key, max(name) as name, count() as runs,\n"
	"\t\tsum(peak_bytes) as peak_bytes, sum(alloc_bytes) as alloc_bytes, sum(byte_seconds) as byte_seconds\n"
	"\tfrom fleet where part = 'site' group by service, version, day, key;\n";
static const char duckdb_days[] =
	"create view if not exists fleet_day as\n"
	"\tselect service, version, date '1970-01-01' + cast(started_ms // 86400000 as integer) as day, key,\n"
	"\t\tmax(name) as name, count() as runs, sum(peak_bytes) as peak_bytes, sum(alloc_bytes) as alloc_bytes,\n"
	"\t\tsum(byte_seconds) as byte_seconds\n"
	"\tfrom fleet where part = 'site' group by service, version, day, key;\n";

void fleet_schema_write(struct out *out, enum fleet_dialect dialect)
{
	out_printf(out, "-- schema %d\ncreate table if not exists fleet (", FLEET_SCHEMA);
	write_columns(out, dialect);
	if (dialect == FLEET_CLICKHOUSE)
		out_text(out, "\n) engine = ReplacingMergeTree()\n"
			      "partition by toYYYYMM(toDateTime(intDiv(started_ms, 1000)))\n"
			      "order by (part, key, run, start);\n");
	else
		out_text(out, "\n);\n");
	for (unsigned i = 0; i < sizeof(views) / sizeof(*views); i++)
		out_printf(out,
			   "create view if not exists fleet_%s as\n\tselect " OF_ALL
			   ", %s\n\tfrom fleet where %s;\n",
			   views[i].name, views[i].columns, views[i].where);
	out_text(out, dialect == FLEET_CLICKHOUSE ? clickhouse_days : duckdb_days);
}
