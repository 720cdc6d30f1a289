/* SPDX-License-Identifier: MIT */
/* The folder of the name cache (namecache.h). Other files may lie in it. */
#ifndef NAMES_CACHE_FOLDER_H
#define NAMES_CACHE_FOLDER_H

#define CACHE_SUFFIX ".names" /* of the cache's files, behind a build id in hexadecimal */

/* The path, to be freed. NULL: nothing is cached, or there is no memory. */
char *cache_folder_path(void);

/* Creates the folder, if it is missing, and removes files of the cache that were not asked for in two months. */
void cache_folder_prepare(const char *folder);

#endif
