/* SPDX-License-Identifier: MIT */
/*
 * make_seeds DIR [TRACE]...: writes the seed corpus of fuzz_reader, fuzz_seek and fuzz_replay into DIR: small traces,
 * and recipes of them and of each TRACE.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recipe.h"
#include "trace_model.h"

static void save(const char *folder, const char *name, const uint8_t *data, size_t size)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wb");
	MUST(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void seed(const char *folder, const char *name, uint32_t events,
		 const struct mst_writer_options *options, bool named)
{
	static const struct mst_name names[] = { { "f", "/d", "f.c", 1, "n::f(int)" },
						 { "main", "/d", "m.c", 300, NULL } };
	char recipe_name[64];
	struct bytes recipe = { 0 };
	struct model m;
	uint8_t *bytes;
	size_t size;

	model_create(&m, events, options);
	while (m.events.n < events)
		model_step(&m);
	for (uint32_t i = 0; named && i < m.frames.n; i += 2)
		MUST(mst_writer_names(m.writer, i, names, 1 + i / 2 % 2) == 0);
	model_finish(&m);
	bytes = model_bytes(&m, &size);
	recipe_from_trace(&recipe, bytes, size);
	MUST(!recipe.failed);
	snprintf(recipe_name, sizeof(recipe_name), "%s.recipe", name);
	save(folder, name, bytes, size);
	save(folder, recipe_name, recipe.data, recipe.size);
	bytes_free(&recipe);
	free(bytes);
	model_destroy(&m);
}

static void seed_of(const char *folder, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct bytes trace = { 0 }, recipe = { 0 };
	uint8_t part[4096];
	char name[256];
	FILE *file = fopen(path, "rb");
	size_t n;

	MUST(file);
	while ((n = fread(part, 1, sizeof(part), file)) > 0)
		bytes_append(&trace, part, n);
	fclose(file);
	recipe_from_trace(&recipe, trace.data, trace.size);
	MUST(!recipe.failed);
	snprintf(name, sizeof(name), "%s.recipe", slash ? slash + 1 : path);
	save(folder, name, recipe.data, recipe.size);
	bytes_free(&trace);
	bytes_free(&recipe);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s DIRECTORY [TRACE...]\n", argv[0]);
		return 64;
	}
	for (int i = 2; i < argc; i++)
		seed_of(argv[1], argv[i]);
	seed(argv[1], "empty", 0, &(struct mst_writer_options){ 0 }, false);
	seed(argv[1], "short", 17, &(struct mst_writer_options){ .identity = true }, false);
	seed(argv[1], "chunks", 64, &(struct mst_writer_options){ .identity = true, .chunk_records = 8 },
	     false);
	seed(argv[1], "plain", 304, &(struct mst_writer_options){ .chunk_records = 100 }, false);
	seed(argv[1], "wide", 704, &(struct mst_writer_options){ .identity = true }, false);
	seed(argv[1], "recoded", 704, &(struct mst_writer_options){ .identity = true, .recoded = true },
	     false);
	seed(argv[1], "large", 200,
	     &(struct mst_writer_options){ .identity = true, .recoded = true, .chunk_records = 1 << 20 },
	     false);
	seed(argv[1], "keyframes", 96,
	     &(struct mst_writer_options){ .identity = true, .chunk_records = 8, .keyframe_records = 16 },
	     false);
	seed(argv[1], "keyframes_counted", 92,
	     &(struct mst_writer_options){
		     .identity = true, .recoded = true, .chunk_records = 8, .keyframe_records = 16 },
	     false);
	seed(argv[1], "named", 32, &(struct mst_writer_options){ .identity = true }, true);
	seed(argv[1], "counted", 60, &(struct mst_writer_options){ .identity = true, .chunk_records = 8 },
	     false);
	return 0;
}
