/* SPDX-License-Identifier: MIT */
/* The summary of a run for an engine that has those of a whole fleet: CSV with a line of names, or Parquet. */
#include "emit.h"
#include "fleet_table.h"

static void write_fleet(struct out *out, const struct emit_view *view)
{
	fleet_table_write(out, view->emitter->form, view->report, view->labels);
}

const struct emitter emit_clickhouse = {
	.name = "clickhouse",
	.suffix = ".fleet.csv",
	.help = "a run's summary, for ClickHouse and DuckDB (--schema, --label)",
	.source = EMIT_FLEET,
	.form = TABLE_CSV,
	.write = write_fleet,
};

const struct emitter emit_parquet_fleet = {
	.name = "parquet-fleet",
	.suffix = ".fleet.parquet",
	.help = "a run's summary",
	.source = EMIT_FLEET,
	.binary = true,
	.form = TABLE_PARQUET,
	.write = write_fleet,
};
