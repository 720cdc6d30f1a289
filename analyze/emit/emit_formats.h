/* SPDX-License-Identifier: MIT */
/*
 * The output formats in the order of --to=help, for emit.h and emit.c to define FORMAT(name). A format is guessed from
 * the first suffix that ends a file's name, so .csv comes after .stacks.csv.
 */
/* clang-format off */
FORMAT(massif)
FORMAT(callgrind)
FORMAT(xtree)
FORMAT(folded)
FORMAT(speedscope)
FORMAT(pprof)
FORMAT(heapprofile)
FORMAT(heaptrack)
FORMAT(dhat)
FORMAT(memusage)
FORMAT(csv_stacks)
FORMAT(csv_frames)
FORMAT(csv_snapshots)
FORMAT(csv_threads)
FORMAT(csv_rss)
FORMAT(clickhouse)
FORMAT(csv)
FORMAT(ndjson_stacks)
FORMAT(ndjson_frames)
FORMAT(ndjson_snapshots)
FORMAT(ndjson_threads)
FORMAT(ndjson_rss)
FORMAT(ndjson)
FORMAT(parquet_stacks)
FORMAT(parquet_frames)
FORMAT(parquet_snapshots)
FORMAT(parquet_threads)
FORMAT(parquet_rss)
FORMAT(parquet_fleet)
FORMAT(parquet)
/* clang-format on */
