/* SPDX-License-Identifier: MIT */
/* Files that are installed or built together with the running program. */
#ifndef BASE_INSTALL_PATHS_H
#define BASE_INSTALL_PATHS_H

#include <stddef.h>

/*
 * The first of the `places`, absolute paths or such that begin in the program's own directory, that access(2) grants in
 * `mode`; to be freed. NULL: there is none, or no memory.
 */
char *install_path_find(const char *const *places, size_t n, int mode);

#endif
