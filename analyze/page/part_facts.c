/* SPDX-License-Identifier: MIT */
/* What nodes are besides what comes and goes in time: sizes, lifetimes, reallocs, threads, the verdict. And threads. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "group_lives.h"
#include "parts.h"
#include "trends.h"

enum {
	THREADS_MOST = 4, /* of a node */
	VERDICTS_MOST = 500
};

struct sizes {
	uint64_t least, most;
};

/* Blocks that a thread allocated at a node. */
struct share {
	uint32_t node, thread;
	uint64_t calls;
};

/* What became of a node's blocks, in the order in which the page has it. */
enum { LIFE_SUMS = 5, LIFE_VALUES = LIFE_SUMS + 6 };
struct node_life {
	uint64_t values[LIFE_VALUES];
};

struct facts {
	struct parts *parts;
	struct node_life *lives; /* by node; NULL: not known */
	struct sizes *sizes;     /* by node */
	struct share *shares;    /* by node; those of the most calls first */
	size_t n_shares;
	uint8_t *verdicts; /* by node: enum verdict */
};

static void finish(struct facts *f)
{
	free(f->lives);
	free(f->sizes);
	free(f->shares);
	free(f->verdicts);
}

/* ---- Sizes and threads ---- */

static int compare_shares(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static int compare_owners(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Makes one share of those of a node and a thread. */
static void merge_shares(struct facts *f)
{
	size_t n = 0;
	array_sort(f->shares, f->n_shares, sizeof(*f->shares), compare_owners);
	for (size_t i = 0; i < f->n_shares; i++) {
		const struct share share = f->shares[i];
		if (n && compare_owners(&f->shares[n - 1], &share) == 0)
			f->shares[n - 1].calls += share.calls;
		else
			f->shares[n++] = share;
	}
	f->n_shares = n;
	array_sort(f->shares, n, sizeof(*f->shares), compare_shares);
}

static bool read_rows(struct facts *f)
{
	const struct report *r = f->parts->report;
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(r->reader, &n);
	struct profile_row row;
	size_t rows = 0;
	while (profile_row(r->profile, rows, &row))
		rows++;
	f->sizes = calloc(f->parts->nodes.n + (size_t)1, sizeof(*f->sizes));
	f->shares = malloc((rows + 1) * sizeof(*f->shares));
	if (!f->sizes || !f->shares)
		return false;
	for (size_t i = 0; profile_row(r->profile, i, &row); i++) {
		const struct mst_kind *kind = &kinds[row.kind];
		const uint32_t node = f->parts->nodes.of_stacks[kind->stack];
		if (row.allocated == 0 || node == MST_NONE)
			continue;
		struct sizes *s = &f->sizes[node];
		/* Sizes + 1, so that 0 is none. */
		if (s->least == 0 || kind->size < s->least - 1)
			s->least = kind->size + 1;
		if (kind->size >= s->most)
			s->most = kind->size + 1;
		if (row.thread != PROFILE_NO_THREAD)
			f->shares[f->n_shares++] = (struct share){ node, row.thread, row.allocated };
	}
	merge_shares(f);
	return true;
}

/* ---- Verdicts ---- */

/* What trends_judge_series() reads of a group, by node. NULL: no memory. */
static struct group *find_groups(const struct parts *p)
{
	const uint64_t block = flows_block(p->flows);
	struct group *groups = calloc(p->nodes.n + (size_t)1, sizeof(*groups));
	for (uint32_t i = 0; groups && i < p->nodes.n; i++)
		groups[i].end_blocks = p->cells.initial[i].came_blocks;
	for (size_t i = 0; groups && i < p->cells.n; i++) {
		const struct flow *f = &p->cells.items[i];
		groups[f->stack].bytes += f->came_bytes;
		groups[f->stack].calls += f->came_blocks;
		groups[f->stack].end_blocks += f->came_blocks - f->went_blocks;
	}
	for (uint32_t i = 0; groups && i < p->nodes.n; i++) {
		groups[i].calls /= block;
		groups[i].end_blocks /= block;
	}
	return groups;
}

static int compare_levels(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x < y) - (x > y);
}

/* Judging takes time: only nodes whose highest level is at least this are. INT64_MAX: no memory. */
static int64_t find_least(const int64_t *highest, uint32_t n_nodes)
{
	int64_t *levels = malloc((n_nodes + (size_t)1) * sizeof(*levels)), least = 1;
	if (!levels)
		return INT64_MAX;
	memcpy(levels, highest, n_nodes * sizeof(*levels));
	array_sort(levels, n_nodes, sizeof(*levels), compare_levels);
	if (n_nodes > VERDICTS_MOST && levels[VERDICTS_MOST - 1] > least)
		least = levels[VERDICTS_MOST - 1];
	free(levels);
	return least;
}

/* The nodes that are judged. */
struct judged {
	uint32_t *nodes; /* [n] */
	uint32_t n;
	uint32_t *of_stacks; /* number in `nodes`; MST_NONE: of none */
	int64_t *series;     /* live bytes at the ends of buckets */
	uint32_t buckets;
};

static void judged_finish(struct judged *j)
{
	free(j->nodes);
	free(j->of_stacks);
	free(j->series);
}

/* By stack the number of its node among those that are judged. `numbers` is scratch by node. */
static bool map_stacks(struct judged *j, const struct page_nodes *nodes, uint32_t *numbers)
{
	j->of_stacks = malloc((nodes->n_stacks + (size_t)1) * sizeof(*j->of_stacks));
	memset(numbers, 0xff, nodes->n * sizeof(*numbers));
	for (uint32_t i = 0; i < j->n; i++)
		numbers[j->nodes[i]] = i;
	for (uint32_t i = 0; j->of_stacks && i < nodes->n_stacks; i++)
		j->of_stacks[i] = nodes->of_stacks[i] == MST_NONE ? MST_NONE : numbers[nodes->of_stacks[i]];
	return j->of_stacks;
}

/* Chooses the nodes with the highest levels and follows them. False: no memory. */
static bool judged_choose(struct judged *j, const struct parts *p)
{
	const struct page_nodes *nodes = &p->nodes;
	const struct timeline *timeline = p->report->timeline;
	int64_t *highest = malloc((nodes->n + (size_t)1) * sizeof(*highest));
	uint32_t *numbers = malloc((nodes->n + (size_t)1) * sizeof(*numbers));
	j->nodes = malloc((nodes->n + (size_t)1) * sizeof(*j->nodes));
	bool fine = highest && numbers && j->nodes &&
		    timeline_highest(timeline, nodes->of_stacks, nodes->n_stacks, nodes->n, highest);
	const int64_t least = fine ? find_least(highest, nodes->n) : INT64_MAX;
	for (uint32_t i = 0; fine && i < nodes->n; i++) {
		if (nodes->items[i].frame != MST_NONE && highest[i] >= least)
			j->nodes[j->n++] = i;
	}
	timeline_points(timeline, &j->buckets);
	fine = fine && least != INT64_MAX && map_stacks(j, nodes, numbers) &&
	       (j->series = malloc(((size_t)j->n * j->buckets + 1) * sizeof(*j->series)));
	if (fine)
		timeline_follow(timeline, j->of_stacks, nodes->n_stacks, j->n, j->series);
	free(highest);
	free(numbers);
	return fine;
}

static bool judge(struct facts *f)
{
	const struct parts *p = f->parts;
	struct group *groups = find_groups(p);
	struct judged judged = { 0 };
	f->verdicts = calloc(p->nodes.n + (size_t)1, 1);
	bool fine = groups && f->verdicts && judged_choose(&judged, p);
	for (uint32_t i = 0; fine && i < judged.n; i++) {
		const uint32_t node = judged.nodes[i];
		struct judgement judgement;
		fine = trends_judge_series(p->report, &groups[node],
					   judged.series + (size_t)i * judged.buckets, &judgement);
		f->verdicts[node] = (uint8_t)judgement.verdict;
	}
	free(groups);
	judged_finish(&judged);
	return fine;
}

/* ---- Lives ---- */

static void set_quantiles(struct node_life *to, const struct lifetimes *from,
			  const struct histogram_pages *pages)
{
	const struct histogram *const histograms[] = { &from->calls, &from->bytes, &from->time_ns };
	static const double shares[] = { .5, .99 };
	uint64_t *value = to->values + LIFE_SUMS;
	for (unsigned k = 0; k < sizeof(shares) / sizeof(*shares); k++) {
		for (unsigned i = 0; i < 3; i++)
			*value++ = histogram_quantile(histograms[i], pages, shares[k]);
	}
}

static void set_life(struct node_life *to, const struct lives *lives, uint32_t stack)
{
	const struct life *l = lives_of(lives, stack);
	*to = (struct node_life){ { l->freed, l->temporary, l->resized, l->moved, l->copied } };
	set_quantiles(to, &l->lifetimes, lives_pages(lives));
}

static void set_sum(struct node_life *to, const struct group_life *l, const struct histogram_pages *pages)
{
	*to = (struct node_life){ { l->freed, l->temporary, l->resized, l->moved, l->copied } };
	set_quantiles(to, &l->lifetimes, pages);
}

/* By node how many stacks with lives it has. NULL: no memory. */
static uint32_t *count_stacks(const struct parts *p)
{
	uint32_t *counts = calloc(p->nodes.n + (size_t)1, sizeof(*counts));
	for (uint32_t i = 0; counts && i < p->nodes.n_stacks; i++) {
		if (p->nodes.of_stacks[i] != MST_NONE && lives_of(p->report->lives, i))
			counts[p->nodes.of_stacks[i]]++;
	}
	return counts;
}

/* Most nodes are one stack: only histograms of the others are merged. */
static bool find_lives(struct facts *f)
{
	const struct parts *p = f->parts;
	const uint32_t n = p->nodes.n;
	const struct lives *lives = p->report->lives;
	uint32_t *counts = count_stacks(p);
	struct group_lives sums = { 0 };
	f->lives = calloc(n + (size_t)1, sizeof(*f->lives));
	bool fine = counts && f->lives && group_lives_begin(&sums, n);
	for (uint32_t i = 0; fine && i < p->nodes.n_stacks; i++) {
		const uint32_t node = p->nodes.of_stacks[i];
		const bool known = node != MST_NONE && lives_of(lives, i);
		if (known && counts[node] == 1)
			set_life(&f->lives[node], lives, i);
		else if (known)
			fine = group_lives_add(&sums, node, p->report, i);
	}
	for (uint32_t i = 0; fine && i < n; i++) {
		if (counts[i] > 1)
			set_sum(&f->lives[i], &sums.items[i], &sums.pages);
	}
	group_lives_finish(&sums);
	free(counts);
	return fine;
}

/* ---- What is written ---- */

static void write_lives(struct facts *f)
{
	struct columns *c = &f->parts->columns;
	columns_number(c, f->lives ? 1 : 0);
	for (unsigned k = 0; f->lives && k < LIFE_VALUES; k++) {
		for (uint32_t i = 0; i < f->parts->nodes.n; i++)
			columns_number(c, f->lives[i].values[k]);
	}
}

/* Of each node: how many threads, and then (thread, calls). */
static void write_shares(struct facts *f)
{
	struct columns *c = &f->parts->columns;
	size_t at = 0;
	for (uint32_t node = 0; node < f->parts->nodes.n; node++) {
		const size_t from = at;
		while (at < f->n_shares && f->shares[at].node == node)
			at++;
		const size_t n = at - from < THREADS_MOST ? at - from : THREADS_MOST;
		columns_number(c, n);
		for (size_t i = 0; i < n; i++) {
			columns_number(c, f->shares[from + i].thread);
			columns_number(c, f->shares[from + i].calls);
		}
	}
}

static void write_facts(struct facts *f)
{
	struct columns *c = &f->parts->columns;
	const uint32_t n = f->parts->nodes.n;
	columns_begin(c, PART_FACTS);
	for (uint32_t i = 0; i < n; i++)
		columns_number(c, f->sizes[i].least);
	for (uint32_t i = 0; i < n; i++)
		columns_number(c, f->sizes[i].most);
	columns_number(c, VERDICTS);
	for (unsigned i = 0; i < VERDICTS; i++)
		columns_number(c, texts_add(&f->parts->texts, verdict_names[i]));
	columns_bytes(c, f->verdicts, n);
	write_lives(f);
	write_shares(f);
	columns_end(c);
}

/* From the first call to the last one. NULL: there are none. */
static void write_span(struct columns *c, const struct landmark_thread *thread)
{
	const bool called = thread && thread->called;
	columns_number(c, called ? thread->first_ns + 1 : 0);
	if (called)
		columns_number(c, thread->last_ns - thread->first_ns);
}

static void write_threads(struct parts *p)
{
	uint32_t n, n_lives = 0;
	const struct mst_thread *threads = mst_reader_threads(p->report->reader, &n);
	const struct lives_thread *lives =
		p->report->lives ? lives_threads(p->report->lives, &n_lives) : NULL;
	const struct landmarks *marks = flows_landmarks(p->flows);
	struct columns *c = &p->columns;
	columns_begin(c, PART_THREADS);
	columns_number(c, n);
	for (uint32_t i = 0; i < n; i++) {
		columns_number(c, threads[i].tid);
		columns_number(c, texts_add(&p->texts, threads[i].name ? threads[i].name : ""));
		columns_number(c, i < n_lives ? lives[i].calls : 0);
		write_span(c, i < marks->room_threads ? &marks->threads[i] : NULL);
	}
	columns_end(c);
}

bool part_facts(struct parts *p)
{
	struct facts f = { .parts = p };
	const bool known = report_knows_lives(p->report);
	const bool fine = read_rows(&f) && judge(&f) && (!known || find_lives(&f));
	if (fine) {
		write_facts(&f);
		write_threads(p);
	}
	finish(&f);
	return fine && !p->columns.failed;
}
