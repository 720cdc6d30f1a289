/* SPDX-License-Identifier: MIT */
/*
 * What the recorder and msrec know of the C library that they are built for, which is the programs' too: glibc or musl.
 * preload/libc/ has what the recorder does in one of them alone.
 */
#ifndef TRACE_RECORD_LIBC_H
#define TRACE_RECORD_LIBC_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef __GLIBC__
#define LIBC_NAME "glibc"
#define LIBC_MUTEX_WORD 0 /* of a pthread_mutex_t, in 32-bit words: the owner's id, which the kernel marks */
#define LIBC_HAS_TABLES true  /* its code has call frame information */
#define LIBC_FORKS_LIST false /* a forked child begins with its parent's list of locked robust mutexes */
#define LIBC_IS_PATCHED                                                                                      \
	true /* msrec attaches to its processes, and puts jumps into its code and its programs' */
#else
#define LIBC_NAME "musl"
#define LIBC_MUTEX_WORD 1
#define LIBC_HAS_TABLES false
#define LIBC_FORKS_LIST true
#define LIBC_IS_PATCHED false
#endif

/* The C library whose loader has that path; NULL: the recorder's own, or an unknown one, which may be that. */
static inline const char *libc_of_loader(const char *path)
{
	static const char *const loaders[][2] = {
		{ "ld-linux-", "glibc" },
		{ "ld-musl-", "musl" },
		{ "ld64-uClibc", "uClibc" },
		{ "linker64", "Android's" },
	};
	const char *const slash = strrchr(path, '/');

	for (size_t i = 0; slash && i < sizeof(loaders) / sizeof(*loaders); i++) {
		if (strncmp(slash + 1, loaders[i][0], strlen(loaders[i][0])) == 0)
			return strcmp(loaders[i][1], LIBC_NAME) == 0 ? NULL : loaders[i][1];
	}
	return NULL;
}

/* Whether msrec can be built for it. */
static inline bool libc_is_known(const char *name)
{
	return strcmp(name, "glibc") == 0 || strcmp(name, "musl") == 0;
}

#endif
