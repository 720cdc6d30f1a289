/* SPDX-License-Identifier: MIT */
/*
 * A report: what is observed in one pass over a trace, and the sections that turn it into an answer.
 *
 * To add a section NAME: write section_NAME.c with `const struct report_section section_NAME`, add SECTION(NAME) to
 * sections.h and the file to meson.build. msreport(1) describes it.
 */
#ifndef ANALYZE_REPORT_H
#define ANALYZE_REPORT_H

#include "answer.h"
#include "groups.h"
#include "lives.h"
#include "marks.h"
#include "mistakes.h"
#include "own_peaks.h"
#include "profile.h"
#include "savings.h"
#include "settings.h"
#include "sites.h"
#include "spans.h"
#include "suppressions.h"
#include "symbolize.h"
#include "temporaries.h"
#include "thread_changes.h"
#include "timeline.h"
#include "turnover.h"

/* What a section reads beside the profile; a bit each. */
enum report_need {
	NEEDS_TIMELINE = 1,
	NEEDS_LIVES = 2,   /* each record: slower than all others */
	NEEDS_GROWTH = 4,  /* a second profile, of what was allocated after a point in time */
	NEEDS_THREADS = 8, /* rows of the profile by thread */
	NEEDS_MISTAKES = 32,
	NEEDS_FUNCTIONS = 64, /* own peaks of functions, and so on */
	NEEDS_LINES = 128,
	NEEDS_LIBRARIES = 256,
	NEEDS_TEMPORARIES = 512, /* how many there are; lives know it, too */
	NEEDS_THREAD_CHANGES = 2048,
	NEEDS_TURNOVER = 1024,   /* each record, too */
	NEEDS_WIDTHS = 4096,     /* of blocks whose lives are read */
	NEEDS_HISTOGRAMS = 8192, /* of lifetimes, if lives are read */
	WANTS_LIVES = 16,        /* if the trace isn't large */
};

/* Most events of a trace of which WANTS_LIVES, or NEEDS_TEMPORARIES where chunks don't count them, reads each record. */
enum { REPORT_SMALL = 4000000, REPORT_MIDDLING = 250000000 };

struct report_query {
	struct at at;      /* of the profile; times in ms */
	uint64_t from_ms;  /* of the growth: what was allocated after it ... */
	uint64_t until_ms; /* ... and is live at this time; PROFILE_NO_TIME: at the end */
	bool from_given;   /* else a tenth of the run */
	/* Marks in place of these times; NULL: none. Their places are those of the trace that is read. */
	const char *from_mark, *until_mark;
	struct mark_place from_place, until_place;
	enum group_by by; /* with by_given; else what suits the section */
	bool by_given;
	uint64_t top;          /* rows of a table; 0: what suits the section */
	uint64_t allowed;      /* lives.h */
	bool si;               /* units of 1000 in sentences */
	uint64_t stack_id;     /* of section_stack: its first digits; the others are 0 */
	unsigned stack_digits; /* hexadecimal ones, 1 to 16; 0: it isn't asked for */
	double threshold;      /* of a tree, in shares */
	struct sites_hidden hidden;
	struct span_query span;            /* of section spans; without `text`: those that are marked */
	struct suppressions *suppressions; /* of the leaks; what each hid is noted in it */
};

/*
 * Invariants: an observer exists if a bit of `needs` asks for it. begin_ns <= end_ns. `growing` implies that `ended` is false,
 * and `ended` that `end` is known. After no_memory the answer is not shown.
 */
struct report {
	const struct report_query *query;
	const struct mst_reader *reader;
	const struct settings *settings;
	const char *name; /* of the trace */
	struct symbolizer *symbolizer;
	struct call_sites *calls;
	struct sites *sites;

	/* The observers; NULL: no section needs it. */
	struct profile *profile, *growth;
	struct timeline *timeline;
	struct thread_changes *thread_changes;
	struct lives *lives;
	struct temporaries *temporaries;
	struct mistakes *mistakes;
	struct own_peaks *own_peaks[GROUPINGS]; /* BY_FUNCTION, BY_SITE, BY_LIBRARY */
	struct turnover *turnover;
	/* Made between the passes. */
	struct savings *savings;
	struct spans *spans;
	struct span_calls *span_calls; /* of `spans`; NULL: they need none */

	struct mst_end end; /* with `ended` */
	bool ended;
	bool growing;              /* it has not: msrec still writes the trace */
	bool partial;              /* the trace is damaged or cut */
	uint32_t n_threads;        /* of a filtered trace, all that the program had; 0: those of the trace */
	bool once;                 /* the input cannot be read a second time */
	bool page;                 /* a page is made, whose tables are longer */
	uint64_t begin_ns, end_ns; /* of the times in the trace */

	unsigned needs; /* enum report_need: of the sections, as far as the trace's size allows */

	struct answer *answer;
	bool no_memory;
};

struct report_section {
	const char *name; /* on the command line, and in JSON */
	const char *help; /* one line */
	unsigned needs;   /* enum report_need */
	/* Optional. After the pass: an observer for a second one, before write(); NULL: the section needs none. */
	struct observer *(*plan)(struct report *report);
	void (*write)(struct report *report);
};

/* All sections; ends with NULL. The first is the overview, which stands for none. */
extern const struct report_section *const report_sections[];

/* What --stack asks for; not among the others. */
extern const struct report_section section_stack;

/* Adds a section to the report's answer, with what is true of all of its figures. */
void report_write_section(struct report *report, const struct report_section *section);

/* NULL: unknown. */
const struct report_section *report_section_find(const char *name);

/* ---- For sections ---- */

static inline uint64_t report_top(const struct report *report, uint64_t fitting)
{
	return report->query->top ? report->query->top : fitting;
}

/* Groups of a profile, the largest first. False: no memory, and the report knows. */
bool report_groups(struct report *report, const struct profile *profile, struct groups *groups,
		   enum group_by by, enum group_order order);

/* What all blocks come to. */
struct report_totals {
	uint64_t then_bytes, then_blocks, end_bytes, end_blocks, bytes, calls;
};
struct report_totals report_totals(const struct report *report, const struct profile *profile);

/*
 * The columns that name a group, the last of a table; and their values. What a group is decides which are shown: the
 * others are null in JSON.
 */
/* clang-format off */
#define REPORT_GROUP_COLUMNS                                                     \
	{ "function", "function", ANSWER_FUNCTION, ANSWER_EVERYWHERE },          \
	{ "place", "at", ANSWER_PLACE, ANSWER_SCREEN },                          \
	{ "file", "", ANSWER_TEXT, ANSWER_DATA },                                \
	{ "line", "", ANSWER_COUNT, ANSWER_DATA },                               \
	{ "module", "", ANSWER_TEXT, ANSWER_DATA },                              \
	{ "via", "", ANSWER_TEXT, ANSWER_DATA },                                 \
	{ "id", "stack", ANSWER_ID, ANSWER_EVERYWHERE }
/* clang-format on */
void report_name_group(struct report *report, const struct group *group, enum group_by by);

/* The same for one call, or of BY_FUNCTION and BY_LIBRARY its function or module. */
void report_name_call(struct report *report, uint32_t call, uint32_t module, enum group_by by);

/* Whether the lives of single blocks are known: they were read, and the trace says which block each free gives back. */
static inline bool report_knows_lives(const struct report *report)
{
	return report->lives && !lives_lack_identity(report->lives);
}

/* A note that they aren't, or are known of a sample only, if so. */
void report_note_lives(struct report *report);

/* The same of a section that wants them: `what` is left out. `words` ask for the section. */
void report_note_wanted_lives(struct report *report, const char *what, const char *words);

/* The time after which the growth's blocks are allocated, in ms. */
uint64_t report_growth_from(const struct report *report);

/* How the process ended: "exit 0", "killed by signal 9" ... Returns a constant, or `text`. */
const char *report_describe_end(const struct report *report, char text[64]);

enum { REPORT_LIMITS = 6, REPORT_LIMIT_SIZE = 100 };

/* What is true of all figures, such as that they are estimates: sentences, those that say most first. Their number. */
unsigned report_limits(const struct report *report, char limits[REPORT_LIMITS][REPORT_LIMIT_SIZE]);

double report_share(uint64_t part, uint64_t whole);

/* The program, without its folder, and its arguments; to be freed. NULL: no memory. */
char *report_command_line(const struct report *report);

#endif
