/* SPDX-License-Identifier: MIT */
/*
 * EXPORT: a function that the program sees. All others are hidden (-fvisibility=hidden). HIDDEN is for declarations of
 * data, so that the compiler addresses it directly, not by the offset table.
 */
#ifndef PRELOAD_EXPORT_H
#define PRELOAD_EXPORT_H

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

#endif
