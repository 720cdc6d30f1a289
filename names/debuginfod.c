/* SPDX-License-Identifier: MIT */
#include "debuginfod.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY "libdebuginfod.so.1"

#define SIZE_MOST ((uint64_t)1 << 30)
#define SECONDS_MOST 300
#define SECOND_NS 1000000000U

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

static bool library_load(struct debuginfod *debuginfod)
{
	if (!debuginfod->library)
		/* It stays: the HTTP and TLS libraries behind it keep memory for their whole process. */
		debuginfod->library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
	return debuginfod->library;
}

static bool client_begin(struct debuginfod *debuginfod)
{
	void *(*begin)(void);

	if (!debuginfod->client && library_load(debuginfod) &&
	    find_function(debuginfod, "debuginfod_begin", &begin))
		debuginfod->client = begin();
	return debuginfod->client;
}

/* ---- limits ---- */

/* debuginfod_get_user_data(): here the struct debuginfod that limits the client. */
static void *(*owner_of)(void *client);

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* Bytes that this process has written: the client stores packed answers unpacked, and counts what came. 0: not known. */
static uint64_t written_bytes(void)
{
	FILE *file = fopen("/proc/self/io", "re");
	uint64_t n = 0;

	if (!file)
		return 0;
	if (fscanf(file, "rchar: %*u wchar: %" SCNu64, &n) != 1)
		n = 0;
	fclose(file);
	return n;
}

static uint64_t limit_of(const char *variable, uint64_t usual)
{
	const char *text = getenv(variable);
	char *end;
	uint64_t n;

	if (!text || *text < '0' || *text > '9')
		return usual;
	n = strtoull(text, &end, 10);
	return *end ? usual : n;
}

/* The client asks several times a second. Not 0: it shall stop. */
static int watch(void *client, long came, long all)
{
	struct debuginfod *debuginfod = owner_of(client);
	uint64_t bytes;

	(void)all;
	if (debuginfod->gave_up)
		return 1;
	bytes = written_bytes();
	bytes = bytes > debuginfod->began_at ? bytes - debuginfod->began_at : 0;
	if (came > 0 && bytes < (uint64_t)came)
		bytes = (uint64_t)came;
	debuginfod->gave_up =
		(debuginfod->most_bytes && bytes > debuginfod->most_bytes) ||
		(debuginfod->most_s && (now_ns() - debuginfod->began_ns) / SECOND_NS >= debuginfod->most_s);
	return debuginfod->gave_up;
}

void debuginfod_limit(struct debuginfod *debuginfod, void *client)
{
	void (*set_progress)(void *client, int (*progress)(void *client, long came, long all));
	void (*set_owner)(void *client, void *owner);

	if (!client || !library_load(debuginfod) ||
	    !find_function(debuginfod, "debuginfod_set_progressfn", &set_progress) ||
	    !find_function(debuginfod, "debuginfod_set_user_data", &set_owner) ||
	    !find_function(debuginfod, "debuginfod_get_user_data", &owner_of))
		return;
	debuginfod->most_bytes = limit_of("DEBUGINFOD_MAXSIZE", SIZE_MOST);
	debuginfod->most_s = limit_of("DEBUGINFOD_MAXTIME", SECONDS_MOST);
	debuginfod->began_ns = now_ns();
	debuginfod->began_at = written_bytes();
	set_owner(client, debuginfod);
	set_progress(client, watch);
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
	debuginfod_limit(debuginfod, debuginfod->client);
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
	*debuginfod = (struct debuginfod){ .library = NULL };
}
