/* SPDX-License-Identifier: MIT */
/*
 * EXPORT marks what the preload library shows to the program; everything else is hidden. HIDDEN says so
 * of data that is declared elsewhere, so that it can be reached without asking where it is.
 */
#ifndef PRELOAD_EXPORT_H
#define PRELOAD_EXPORT_H

#define EXPORT __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

#endif
