/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <inttypes.h>

#include "check.h"
#include "memusage.h"
#include "memusage_state.h"

void memusage_count_request(struct memusage_report *r, enum memusage_row row, uint64_t size, uint64_t grown,
			    uint64_t shares)
{
	assert(row < ROW_COUNT && row != ROW_FREE && row != ROW_MUNMAP);
	r->rows[row].calls += shares;
	r->rows[row].total += grown;
	r->heap_total += grown;
	r->sized_calls += shares;
	if (size < BUCKETS * BUCKET_B)
		r->buckets[size / BUCKET_B] += shares;
	else
		r->large += shares;
}

void memusage_report_check(const struct memusage_report *r)
{
	uint64_t calls = 0, total = 0, entries = r->large;
	for (enum memusage_row row = 0; row < ROW_COUNT; row++) {
		if (row == ROW_FREE || row == ROW_MUNMAP)
			continue;
		calls += r->rows[row].calls;
		total += r->rows[row].total;
	}
	assert(total == r->heap_total);
	assert(calls == r->sized_calls + r->realloc_frees);
	for (unsigned i = 0; check_wanted() && i < BUCKETS; i++)
		entries += r->buckets[i];
	assert(!check_wanted() || entries == r->sized_calls);
	(void)calls, (void)total, (void)entries;
}

struct paint {
	const char *title, *head, *label, *failure, *bar; /* switch a colour on */
	const char *title_off, *off, *row_off;            /* and off */
};

static const struct paint coloured_paint = {
	.title = "\033[01;32m",
	.head = "\033[04;34m",
	.label = "\033[00;34m",
	.failure = "\033[01;41m",
	.bar = "\033[41;37m",
	.title_off = "\033[0;0m",
	.off = "\033[0m",
	.row_off = "\033[00;00m",
};

static const struct paint plain_paint = { "", "", "", "", "", "", "", "" };

static void print_row(const struct memusage *m, FILE *out, const struct paint *paint, enum memusage_row row)
{
	static const char *const labels[ROW_COUNT] = {
		[ROW_MALLOC] = " malloc",    [ROW_REALLOC] = "realloc",   [ROW_CALLOC] = " calloc",
		[ROW_FREE] = "   free",      [ROW_MMAP_READ] = "mmap(r)", [ROW_MMAP_WRITE] = "mmap(w)",
		[ROW_MMAP_ANON] = "mmap(a)", [ROW_MREMAP] = " mremap",    [ROW_MUNMAP] = " munmap",
	};
	const struct memusage_counts *c = &m->report.rows[row];
	uint64_t calls = weight_blocks(c->calls) + (row == ROW_FREE ? m->report.null_frees : 0);
	fprintf(out, "%s%s|%s %10" PRIu64 "   %12" PRIu64, paint->label, labels[row], paint->off, calls,
		c->total);
	if (row != ROW_FREE)
		fprintf(out, "   %s%12" PRIu64 "%s", c->failed ? paint->failure : "", c->failed,
			paint->row_off);
	if (row == ROW_REALLOC)
		fprintf(out, "  (nomove:%" PRId64 ", dec:%" PRId64 ", free:%" PRId64 ")",
			(int64_t)weight_blocks(m->report.in_place),
			(int64_t)weight_blocks(m->report.decreasing),
			(int64_t)weight_blocks(m->report.realloc_frees));
	if (row == ROW_MREMAP)
		fprintf(out, "  (nomove: %" PRId64 ", dec:%" PRId64 ")", (int64_t)m->report.remapped_in_place,
			(int64_t)m->report.remapped_decreasing);
	fputc('\n', out);
}

/* Prints the rest of a histogram line for `n` entries. */
static void print_bar(const struct memusage *m, FILE *out, const struct paint *paint, uint64_t n,
		      uint64_t most)
{
	uint64_t percent = 100 * n / weight_blocks(m->report.sized_calls);
	if (percent == 0)
		fputs(" <1% ", out);
	else
		fprintf(out, "%3d%% ", (int)percent);
	fputs(paint->bar, out);
	for (uint64_t i = 50 * n / most; i > 0; i--)
		fputc('=', out);
	fprintf(out, "%s\n", paint->title_off);
}

static void print_histogram(const struct memusage *m, FILE *out, const struct paint *paint)
{
	fprintf(out, "%sHistogram for block sizes:%s\n", paint->title, paint->title_off);
	uint64_t large = weight_blocks(m->report.large), most = large;
	for (unsigned i = 0; i < BUCKETS; i++)
		if (weight_blocks(m->report.buckets[i]) > most)
			most = weight_blocks(m->report.buckets[i]);
	for (unsigned i = 0; i < BUCKETS; i++) {
		if (m->report.buckets[i] == 0)
			continue;
		int size = (int)(i * BUCKET_B);
		uint64_t n = weight_blocks(m->report.buckets[i]);
		fprintf(out, "%5d-%-5d%12" PRIu64 " ", size, size + (int)BUCKET_B - 1, n);
		print_bar(m, out, paint, n, most);
	}
	if (large) {
		fprintf(out, "   large   %12" PRIu64 " ", large);
		print_bar(m, out, paint, large, most);
	}
}

void memusage_print(const struct memusage *m, FILE *out, bool coloured)
{
	const struct paint *paint = coloured ? &coloured_paint : &plain_paint;
	char mark[80] = "";
	if (m->report.mean)
		snprintf(mark, sizeof(mark), " (estimates: a sample of one block in %" PRIu64 " bytes)",
			 m->report.mean);
	fprintf(out,
		"\n%sMemory usage summary%s:%s heap total: %" PRIu64 ", heap peak: %" PRIu64
		", stack peak: %" PRIu64 "\n",
		paint->title, mark, paint->title_off, m->report.heap_total, m->report.heap_peak,
		m->report.stack_peak);
	fprintf(out, "%s         total calls   total memory   failed calls%s\n", paint->head, paint->off);
	enum memusage_row end = m->maps == MEMUSAGE_NO_MAPS ? ROW_MMAP_READ : ROW_COUNT;
	for (enum memusage_row row = 0; row < end; row++)
		print_row(m, out, paint, row);
	print_histogram(m, out, paint);
}
