/* SPDX-License-Identifier: MIT */
/* cook RECIPE TRACE: makes a trace of a recipe (recipe.h). cook -r TRACE RECIPE: the recipe of a sound trace. */
#include <stdio.h>
#include <string.h>

#include "recipe.h"

static bool read_all(const char *path, struct bytes *to)
{
	char part[4096];
	FILE *file = fopen(path, "r");
	size_t n;
	if (!file)
		return false;
	while ((n = fread(part, 1, sizeof(part), file)) > 0)
		bytes_append(to, part, n);
	return fclose(file) == 0;
}

static bool write_all(const char *path, const struct bytes *from)
{
	FILE *file = fopen(path, "w");
	if (!file)
		return false;
	const bool fine = fwrite(from->data, 1, from->size, file) == from->size;
	return fclose(file) == 0 && fine;
}

int main(int argc, char **argv)
{
	struct bytes in = { 0 }, out = { 0 };
	const bool back = argc == 4 && strcmp(argv[1], "-r") == 0;
	if ((argc != 3 && !back) || !read_all(argv[argc - 2], &in)) {
		fprintf(stderr, "usage: cook RECIPE TRACE, or: cook -r TRACE RECIPE\n");
		return 64;
	}
	if (back)
		recipe_from_trace(&out, in.data, in.size);
	else if (!recipe_cook(&out, in.data, in.size))
		bytes_append(&out, in.data, in.size);
	const bool fine = write_all(argv[argc - 1], &out);
	bytes_free(&in);
	bytes_free(&out);
	return fine ? 0 : 1;
}
