/* SPDX-License-Identifier: MIT */
/*
 * Every cap that keeps a hostile trace from taking memory or time without bound. The writer keeps
 * them too, so that what it writes can be read. FORMAT.md lists them.
 */
#ifndef MSTRACE_LIMITS_H
#define MSTRACE_LIMITS_H

#define MST_MAX_COLUMNS 32u
#define MST_MAX_FIELDS 4096u              /* bytes of a unit's fixed fields */
#define MST_MAX_COLUMN_RAW (16u << 20)    /* bytes of a column, uncompressed */
#define MST_MAX_COLUMN_STORED (17u << 20) /* bytes of a column, as stored */
#define MST_MAX_CHUNK_RECORDS (1u << 20)
#define MST_MAX_TOKENS 65535u /* of a chunk */
#define MST_MAX_KINDS (1u << 24)
#define MST_MAX_STACKS (1u << 26)
#define MST_MAX_FRAMES (1u << 24)
#define MST_MAX_MODULES (1u << 16)
#define MST_MAX_THREADS (1u << 20)
#define MST_MAX_THREAD_NAMES (1u << 20)
#define MST_MAX_THREAD_NAME 255u /* bytes */
#define MST_MAX_MARKS (1u << 20)
#define MST_MAX_MARK 255u /* bytes */
#define MST_MAX_SCRIPTS (1u << 16)
#define MST_MAX_SCRIPT_TEXT 1023u /* bytes */
#define MST_MAX_MEMORY_SAMPLES (1u << 22)
#define MST_MAX_DEPTH 65535u    /* frames of a stack */
#define MST_MAX_TEXT (1u << 20) /* bytes of one string */
#define MST_MAX_ARGS 65536u
#define MST_SAMPLE_MIN (4u << 10) /* mean distance of sample points, bytes */
#define MST_SAMPLE_MAX (1u << 30)
#define MST_MAX_TIME_SHIFT 30u
#define MST_MAX_NAME_TEXTS (1u << 24)
#define MST_MAX_NAME_BYTES (1u << 30) /* of all their texts together */
#define MST_MAX_NAMES 1024u           /* calls that one frame stands for */
#define MST_MAX_ALL_NAMES (1u << 26)

#endif
