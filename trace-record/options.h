/* SPDX-License-Identifier: MIT */
/* What msrec was asked for, by subject. */
#ifndef TRACE_RECORD_OPTIONS_H
#define TRACE_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct attachment;
struct entry_plan;

/* What is recorded of a process. */
struct capture_options {
	uint32_t depth; /* frames kept of a stack */
	bool identity;
	bool trace_children;
	const char *children_skip, *children_only; /* patterns, see child_filter.h; NULL: none */
	bool libc_freeres, cxx_freeres;
	bool free_stacks;      /* the stacks of frees */
	bool usable;           /* what the allocator gives, beside what is asked for */
	bool stacks;           /* stack depths */
	uint32_t timer_ms;     /* CPU time between samples of the stack depth; 0: only at calls */
	bool instructions;     /* the processor's count */
	bool maps;             /* the program's own mmap, mremap and munmap */
	bool pages;            /* all calls that map and unmap pages */
	uint64_t sample_bytes; /* mean distance of sample points; 0: all blocks are recorded */
	bool dormant;          /* nothing, until that is switched on */
	bool fixed;            /* recording cannot be switched off and on */
	bool exact;            /* by the tool for Valgrind */
	bool scripts;          /* the frames of scripts, in stacks */
	bool rss;              /* samples of what memory the process has, taken from outside */
};

/* Which files are made, and what they hold beside events. */
struct output_options {
	const char *pattern; /* of the names, see pattern.h */
	bool numbers;        /* if the first file's name is taken, it gets a number; else that is an error */
	bool overwrite;      /* files of earlier runs */
	int stream;          /* a descriptor that gets the one trace there is; 0: files are made */
	int level;           /* of zstd; 0: the default */
	bool no_args;        /* of a command line keep only the name */
	bool embed_symbols;  /* names of all frames, not only of those that would be lost */
	uint64_t max_bytes;  /* of a file; 0: no limit */
	bool rotates;        /* at that limit go on in another file; else recording ends */
	uint32_t kept;       /* files kept of a process that rotates; 0: all */
};

/* What is done with each file as soon as it ends. */
struct push_options {
	const char *command;   /* the shell's, that gets a profile of it; NULL: nothing */
	uint64_t every_ns;     /* files end so often */
	bool keeps;            /* files stay when their profiles are pushed */
	const char *msconvert; /* that makes the profiles */
};

/* The program to record. */
struct program_options {
	const char *exe; /* its file */
	int argc;
	char *const *argv;                /* as the program gets it */
	const struct entry_plan *entries; /* for an allocator that is linked into it */
	struct attachment *attachment;    /* it runs, and is attached to; NULL: it is started */
};

/* A mark that msrec sets (--mark). */
struct timed_mark {
	uint64_t ns; /* since a trace's time 0 */
	const char *name;
};

struct msrec_options {
	struct capture_options capture;
	struct output_options output;
	struct push_options push;
	struct program_options program;
	bool whole;               /* the traces are checked: they must be whole recordings */
	uint32_t duration_s;      /* of the recording; 0: as long as the programs run */
	struct timed_mark *marks; /* [n_marks] in order of time, as long as msrec lives */
	uint32_t n_marks;
};

#endif
