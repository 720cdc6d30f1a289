/* SPDX-License-Identifier: MIT */
/* Marks what the preload library shows to the program; everything else is hidden. */
#ifndef PRELOAD_EXPORT_H
#define PRELOAD_EXPORT_H

#define EXPORT __attribute__((visibility("default")))

#endif
