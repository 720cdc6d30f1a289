/* SPDX-License-Identifier: MIT */
#include "installed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "install_paths.h"
#include "messages.h"

#define PART_PATH (sizeof(MSREC_TO_PARTS) + 64) /* of the names below */

/* A file that comes with msrec: beside msrec in a build tree, else where it is installed. */
static char *find_part(const char *folder, const char *name)
{
	char built[PART_PATH], installed[PART_PATH], *path, *real;

	snprintf(built, sizeof(built), "%s/%s", folder, name);
	snprintf(installed, sizeof(installed), MSREC_TO_PARTS "/%s", name);
	path = install_path_find((const char *const[]){ built, installed }, 2, F_OK);
	real = path ? realpath(path, NULL) : NULL;
	free(path);
	return real;
}

/* A library for the program; NULL after a message: it is not there, or the loader would take its path for several. */
static char *find_library(const char *name)
{
	char *path = find_part("preload", name);

	if (!path)
		complain("%s is neither beside this program nor where it was installed", name);
	else if (!strpbrk(path, " :"))
		return path;
	else
		complain("%s: the loader takes no library (LD_PRELOAD) whose path has a blank or a colon",
			 path);
	free(path);
	return NULL;
}

/* Takes both; NULL if there is not more than one. */
static char *join(char *libraries, char *other)
{
	char *both = NULL;

	if (libraries && other && asprintf(&both, "%s:%s", libraries, other) < 0)
		both = NULL;
	free(libraries);
	free(other);
	return both;
}

char *installed_preload(bool with_pages, bool with_entries)
{
	char *libraries = find_library("libmsrec.so");

	if (libraries && with_pages)
		libraries = join(libraries, find_library("libmsrec-pages.so"));
	if (libraries && with_entries)
		libraries = join(libraries, find_library("libmsrec-first.so"));
	return libraries;
}

char *installed_attached(void)
{
	char *path = find_part("preload", "libmsrec-attach.so");

	if (!path)
		complain("libmsrec-attach.so is neither beside this program nor where it was installed");
	return path;
}

char *installed_valgrind(void)
{
	char *tool = find_part(".", "valgrind/msrec-amd64-linux"), *slash, *starter = NULL;

	if (!tool) {
		complain(
			"--engine=valgrind: the engine is not installed (Debian's package msrec-engine-valgrind, or a "
			"build where Valgrind's headers and static libraries are)");
		return NULL;
	}
	slash = strrchr(tool, '/');
	if (asprintf(&starter, "%.*s/valgrind", (int)(slash - tool), tool) < 0)
		starter = NULL;
	/* The link to Valgrind's script, where that is a script. */
	if (starter && faccessat(AT_FDCWD, starter, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
		free(starter);
		if (asprintf(&starter, "%.*s/valgrind.bin", (int)(slash - tool), tool) < 0)
			starter = NULL;
	}
	free(tool);
	if (starter && access(starter, X_OK) != 0) {
		complain("--engine=valgrind: Valgrind is not installed (%s: %s)", starter, strerror(errno));
		free(starter);
		return NULL;
	}
	return starter;
}

char *installed_msreport(void)
{
	static const char *const places[] = { "msreport", "../analyze/msreport" };

	return install_path_find(places, sizeof(places) / sizeof(*places), X_OK);
}

char *installed_msconvert(void)
{
	static const char *const places[] = { "msconvert", "../analyze/msconvert" };
	char *path = install_path_find(places, sizeof(places) / sizeof(*places), X_OK);

	if (!path)
		complain("--push: msconvert is neither beside this program nor where it was installed");
	return path;
}
