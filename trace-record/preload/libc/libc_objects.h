/* SPDX-License-Identifier: MIT */
#ifndef PRELOAD_LIBC_OBJECTS_H
#define PRELOAD_LIBC_OBJECTS_H

#include <link.h>
#include <stddef.h>

typedef int libc_object_visitor(struct dl_phdr_info *object, size_t size, void *data);

/*
 * As dl_iterate_phdr(). In glibc it is that, and takes a lock that is held for moments. In musl that lock is held for the
 * whole of a dlopen(), which a signal handler may have interrupted: there no lock is taken.
 */
int libc_each_object(libc_object_visitor *visit, void *data);

#endif
