/* SPDX-License-Identifier: MIT */
/*
 * The functions that stand before those of an allocator that is linked into the program: a patched entry jumps to one of
 * them. Each calls the function itself and the recorder, as interpose.c does.
 */
#ifndef PRELOAD_LINKED_H
#define PRELOAD_LINKED_H

#include "entries.h"

struct linked_shape linked_shape(unsigned shape);

#endif
