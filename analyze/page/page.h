/* SPDX-License-Identifier: MIT */
/*
 * msreport's page: one HTML file with all that the report says, and the program's heap by node of the calling-context
 * tree and by bucket of time, small enough for a browser whatever the trace. The data is made here; web/ shows it.
 */
#ifndef ANALYZE_PAGE_H
#define ANALYZE_PAGE_H

#include "flows.h"
#include "out.h"
#include "picture.h"
#include "report.h"
#include "whatif_answer.h"

/* What must be known before the replay: the chunk in which the peak is. Zero-initialise. */
struct page_outline {
	uint64_t live, peak_bytes, peak_record;
	bool has_peak;
};

/* Reads all headers that are sound, of a reader that has given no chunk. */
void page_outline_read(struct page_outline *outline, struct mst_reader *reader);

/* Whether the page of a query has a section's answer. */
bool page_has_section(const struct report_section *section, const struct report_query *query);

/* What these sections and the page need, of report_need. */
unsigned page_needs(const struct report_query *query);

/* What mswhatif found with its players. */
struct page_player {
	struct whatif *whatif; /* its report is exchanged while the page is written */
	const struct picture *picture;
};

struct page_query {
	uint64_t top;                     /* rows of each table; 0: as many as fit */
	bool sources;                     /* lines of source files */
	const struct page_player *player; /* NULL: none was asked */
};

/*
 * After the replay: writes the page to `out`, by page_template(). `report` has the observers that page_needs() asks for; its query and answer
 * are exchanged while this runs. False: no memory, or errno of a temporary file.
 */
bool page_write(struct out *out, const char *page_template, struct report *report, struct flows *flows,
		const struct page_query *query);

#endif
