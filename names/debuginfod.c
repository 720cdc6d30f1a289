/* SPDX-License-Identifier: MIT */
#include "debuginfod.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libdebuginfod.so.1"

/* Functions come out of dlsym() as data pointers; ISO C has no cast between the two. */
static bool find_function(const struct debuginfod *debuginfod, const char *name, void *function)
{
	void *found = dlsym(debuginfod->library, name);

	memcpy(function, &found, sizeof(found));
	return found;
}

bool debuginfod_is_wanted(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls;
}

static bool client_begin(struct debuginfod *debuginfod)
{
	void *(*begin)(void);

	if (debuginfod->client)
		return true;
	if (!debuginfod->library)
		/* It stays: the HTTP and TLS libraries behind it keep memory for their whole process. */
		debuginfod->library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
	if (debuginfod->library && find_function(debuginfod, "debuginfod_begin", &begin))
		debuginfod->client = begin();
	return debuginfod->client;
}

char *debuginfod_fetch(struct debuginfod *debuginfod, enum debuginfod_what what, const uint8_t *build_id,
		       size_t size)
{
	int (*find)(void *client, const unsigned char *id, int id_size, char **path);
	const char *name =
		what == DEBUGINFOD_EXECUTABLE ? "debuginfod_find_executable" : "debuginfod_find_debuginfo";
	char *path = NULL;
	int fd;

	/* A length of 0 would make the client read the id as text. */
	if (!debuginfod_is_wanted() || size == 0 || size > INT_MAX || !client_begin(debuginfod) ||
	    !find_function(debuginfod, name, &find))
		return NULL;
	fd = find(debuginfod->client, build_id, (int)size, &path);
	if (fd < 0)
		return NULL;
	close(fd);
	return path;
}

void debuginfod_finish(struct debuginfod *debuginfod)
{
	void (*end)(void *client);

	if (debuginfod->client && find_function(debuginfod, "debuginfod_end", &end))
		end(debuginfod->client);
	*debuginfod = (struct debuginfod){ NULL, NULL };
}
