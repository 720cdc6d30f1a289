/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target once on each file, and on each file of a directory: a corpus as a test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	struct stat st;
	int failed = 1;

	if (file && fstat(fileno(file), &st) == 0 && (data = malloc((size_t)st.st_size + 1)) &&
	    fread(data, 1, (size_t)st.st_size, file) == (size_t)st.st_size) {
		LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
		failed = 0;
	} else {
		perror(path);
	}
	if (file)
		fclose(file);
	free(data);
	return failed;
}

static int replay_folder(const char *path, DIR *dir, unsigned *n)
{
	struct dirent *entry;
	char name[4096];
	int failed = 0;

	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		failed |= replay_file(name);
		++*n;
	}
	return failed;
}

int main(int argc, char **argv)
{
	unsigned n = 0;
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);

		if (dir) {
			failed |= replay_folder(argv[i], dir, &n);
			closedir(dir);
		} else {
			failed |= replay_file(argv[i]);
			n++;
		}
	}
	printf("%u inputs\n", n);
	return failed || n == 0;
}
