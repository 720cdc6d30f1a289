/* SPDX-License-Identifier: MIT */
#include "match.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "hash_index.h"
#include "mstrace.h"
#include "string_pool.h"

enum {
	MOST_ROUNDS = 4,     /* of renaming: a renaming makes others certain */
	WHOLE_BUCKET = 1024, /* stacks with the same ends that are all compared with each other */
	NEIGHBOURS = 12,     /* else each stack with so many before and behind it, in two orders */
	MOST_MIDDLE = 1024,  /* labels that a table of the subsequence has in a row */
	ENOUGH_VOTES = 2,
};
#define BUDGET (400u << 20) /* cells of all tables */
#define LEAST_RATIO .8
#define SHORTENED_RATIO .85   /* without the innermost function of one side */
#define HIDDEN (MST_NONE - 1) /* a label that is in one build alone */

const char *const match_names[MATCH_HOWS] = { "none", "same", "renamed", "moved" };

/* The labels as they are compared at present: loose ones, and renamed. */
struct side {
	const struct match_side *given;
	uint32_t **texts; /* by stack; all in one allocation */
	uint32_t *lengths;
	uint32_t *memory;
	uint8_t *known; /* by label: it is in a stack */
	uint8_t *vague; /* by stack: most of its code has no name, so only equal labels count */
	uint32_t *partner;
};

struct matching {
	struct side sides[2];
	enum match_how *how;
	uint32_t n_labels;
	const uint8_t *hidden; /* by label */
	uint64_t budget;
};

void match_finish(struct match *m)
{
	free(m->new_of);
	free(m->old_of);
	free(m->how);
	*m = (struct match){ 0 };
}

static void join(struct matching *m, uint32_t a, uint32_t b, enum match_how how)
{
	assert(m->sides[0].partner[a] == MST_NONE && m->sides[1].partner[b] == MST_NONE);
	m->sides[0].partner[a] = b;
	m->sides[1].partner[b] = a;
	m->how[a] = how;
}

static bool is_free(const struct side *s, uint32_t stack)
{
	return s->partner[stack] == MST_NONE && !s->vague[stack];
}

/* ---- Equal texts ---- */

struct text {
	const uint32_t *labels;
	uint32_t n;
};

static uint32_t hash_labels(struct text t)
{
	uint64_t h = t.n;
	for (uint32_t i = 0; i < t.n; i++)
		h = (h ^ t.labels[i]) * 0x100000001b3u;
	return hash_words(h, t.n);
}

static bool same_text(struct text a, struct text b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.labels, b.labels, a.n * sizeof(*a.labels)) == 0);
}

static struct text text_of(const struct side *s, uint32_t stack)
{
	return (struct text){ s->texts[stack], s->lengths[stack] };
}

/* A stack without a partner, of either side. */
struct candidate {
	struct text text;
	uint64_t calls;
	uint32_t stack, hash;
	uint8_t side;
	bool shortened; /* the text is that of the innermost function's caller */
};

/* Those of both sides; their number. `given`: texts are the given labels, and vague stacks are among them. */
static uint32_t list_candidates(const struct matching *m, bool given, struct candidate *to)
{
	uint32_t n = 0;
	for (uint8_t side = 0; side < 2; side++) {
		const struct side *s = &m->sides[side];
		for (uint32_t i = 0; i < s->given->n; i++) {
			const struct match_stack *stack = &s->given->stacks[i];
			const struct text text =
				given ? (struct text){ stack->labels, stack->n } : text_of(s, i);
			if (given ? s->partner[i] == MST_NONE : is_free(s, i) && stack->n)
				to[n++] = (struct candidate){ text, stack->calls, i, hash_labels(text),
							      side, false };
		}
	}
	return n;
}

/* By text, then side; those with most calls first. */
static int compare_texts(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->text.n != y->text.n)
		return x->text.n < y->text.n ? -1 : 1;
	const int text = memcmp(x->text.labels, y->text.labels, x->text.n * sizeof(*x->text.labels));
	if (text || x->side != y->side)
		return text ? text : x->side < y->side ? -1 : 1;
	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* Joins stacks without a partner whose texts are equal; of several, those with most calls. False: no memory. */
static bool join_equal(struct matching *m, bool given, enum match_how how)
{
	const size_t most = (size_t)m->sides[0].given->n + m->sides[1].given->n;
	struct candidate *c = malloc((most + 1) * sizeof(*c));
	const uint32_t n = c ? list_candidates(m, given, c) : 0;
	array_sort(c, n, sizeof(*c), compare_texts);
	for (uint32_t i = 0, middle, end; i < n; i = end) {
		for (end = i; end < n && same_text(c[i].text, c[end].text);)
			end++;
		for (middle = i; middle < end && c[middle].side == 0;)
			middle++;
		for (uint32_t k = 0; i + k < middle && middle + k < end; k++)
			join(m, c[i + k].stack, c[middle + k].stack, how);
	}
	free(c);
	return c;
}

/* ---- Labels of one build alone ---- */

static void note_labels(struct matching *m)
{
	for (int i = 0; i < 2; i++) {
		struct side *s = &m->sides[i];
		memset(s->known, 0, m->n_labels);
		for (uint32_t k = 0; k < s->given->n; k++) {
			for (uint32_t l = 0; l < s->lengths[k]; l++)
				s->known[s->texts[k][l]] = 1;
		}
	}
}

static bool is_shared(const struct matching *m, uint32_t label)
{
	return m->sides[0].known[label] && m->sides[1].known[label];
}

/* Stacks without a partner by their text without labels of one build alone; at most one old and one new of each are paired. */
struct lonely {
	struct text text; /* in `memory` */
	uint32_t stacks[2], counts[2];
};

struct lonelies {
	struct lonely *items;
	uint32_t n, room;
	struct hash_index index;
	struct pool memory;
};

static void lonelies_finish(struct lonelies *l)
{
	pool_finish(&l->memory);
	free(l->items);
	hash_index_finish(&l->index);
}

/* Enters a stack under a text. False: no memory. */
static bool lonelies_enter(struct lonelies *l, int side, uint32_t stack, struct text text)
{
	const uint32_t hash = hash_labels(text);
	uint32_t id;
	if (!hash_index_reserve(&l->index) || !array_reserve(&l->items, l->n, &l->room, sizeof(*l->items)))
		return false;
	for (uint32_t at = hash_index_first(&l->index, hash); hash_index_next(&l->index, hash, &at, &id);) {
		if (same_text(l->items[id].text, text)) {
			l->items[id].counts[side]++;
			l->items[id].stacks[side] = stack;
			return true;
		}
	}
	l->items[l->n] = (struct lonely){ .text = text };
	l->items[l->n].counts[side] = 1;
	l->items[l->n].stacks[side] = stack;
	hash_index_add(&l->index, hash, l->n++);
	return true;
}

/*
 * The stack's text, in which labels of one build alone are hidden, or with `drop` left out. n = 0: too few are left, or
 * without `drop` none is of one build alone.
 */
static struct text mask(const struct matching *m, struct text t, bool drop, uint32_t *to)
{
	uint32_t n = 0, shared = 0;
	for (uint32_t i = 0; i < t.n; i++) {
		const bool known = is_shared(m, t.labels[i]);
		shared += known;
		if (known || !drop)
			to[n++] = known ? t.labels[i] : HIDDEN;
	}
	if (2 * shared < t.n || (!drop && shared == t.n))
		n = 0;
	return (struct text){ to, n };
}

static bool collect_lonelies(const struct matching *m, bool drop, struct lonelies *l)
{
	if (!hash_index_init(&l->index))
		return false;
	for (int side = 0; side < 2; side++) {
		const struct side *s = &m->sides[side];
		for (uint32_t i = 0; i < s->given->n; i++) {
			const uint32_t n = s->lengths[i];
			if (!is_free(s, i) || n == 0)
				continue;
			uint32_t *to = pool_take(&l->memory, n * sizeof(*to));
			if (!to)
				return false;
			const struct text text = mask(m, text_of(s, i), drop, to);
			if (text.n && !lonelies_enter(l, side, i, text))
				return false;
		}
	}
	return true;
}

static bool is_pair(const struct lonely *l)
{
	return l->counts[0] == 1 && l->counts[1] == 1;
}

/* Calls of the one are not more than twice those of the other. */
static bool are_alike(const struct matching *m, const struct lonely *l)
{
	const uint64_t a = m->sides[0].given->stacks[l->stacks[0]].calls;
	const uint64_t b = m->sides[1].given->stacks[l->stacks[1]].calls;
	return a / 2 <= b && b / 2 <= a;
}

/* ---- Renamings ---- */

/* Votes for an old label's being a new one. */
struct vote {
	uint32_t from, to, votes;
};

struct votes {
	struct vote *items;
	uint32_t n, room;
	struct hash_index index;
};

static bool votes_add(struct votes *v, uint32_t from, uint32_t to, uint32_t votes)
{
	const uint32_t hash = hash_words(from, to);
	uint32_t id;
	if (!hash_index_reserve(&v->index) || !array_reserve(&v->items, v->n, &v->room, sizeof(*v->items)))
		return false;
	for (uint32_t at = hash_index_first(&v->index, hash); hash_index_next(&v->index, hash, &at, &id);) {
		if (v->items[id].from == from && v->items[id].to == to) {
			v->items[id].votes += votes;
			return true;
		}
	}
	v->items[v->n] = (struct vote){ from, to, votes };
	hash_index_add(&v->index, hash, v->n++);
	return true;
}

static int compare_votes(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;
	if (x->votes != y->votes)
		return x->votes > y->votes ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static bool vote(const struct matching *m, const struct lonelies *l, struct votes *v)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct lonely *pair = &l->items[i];
		if (!is_pair(pair))
			continue;
		const uint32_t *a = m->sides[0].texts[pair->stacks[0]],
			       *b = m->sides[1].texts[pair->stacks[1]];
		for (uint32_t k = 0; k < pair->text.n; k++) {
			if (pair->text.labels[k] == HIDDEN &&
			    !votes_add(v, a[k], b[k], 1 + are_alike(m, pair)))
				return false;
		}
	}
	return true;
}

/* Of each label the renaming with most votes. Their number. */
static uint32_t elect(struct votes *v, uint32_t n_labels, uint32_t *renamed)
{
	uint32_t n = 0;
	array_sort(v->items, v->n, sizeof(*v->items), compare_votes);
	for (uint32_t i = 0; i < n_labels; i++)
		renamed[i] = MST_NONE;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct vote *each = &v->items[i];
		uint32_t *from = &renamed[each->from], *to = &renamed[each->to];
		if (each->votes < ENOUGH_VOTES || *from != MST_NONE || *to != MST_NONE)
			continue;
		/* Labels of one build alone: no label is on both sides, so one array serves both. */
		*from = each->to;
		*to = each->to;
		n++;
	}
	return n;
}

static void rename_labels(struct side *s, const uint32_t *renamed)
{
	for (uint32_t i = 0; i < s->given->n; i++) {
		for (uint32_t k = 0; k < s->lengths[i]; k++) {
			uint32_t *label = &s->texts[i][k];
			*label = renamed[*label] == MST_NONE ? *label : renamed[*label];
		}
	}
}

/* One round; *n labels got the name of a new one. False: no memory. */
static bool rename_some(struct matching *m, uint32_t *n)
{
	struct lonelies lonelies = { 0 };
	struct votes votes = { 0 };
	uint32_t *renamed = malloc((m->n_labels + (size_t)1) * sizeof(*renamed));
	note_labels(m);
	const bool fine = renamed && hash_index_init(&votes.index) && collect_lonelies(m, false, &lonelies) &&
			  vote(m, &lonelies, &votes);
	*n = fine ? elect(&votes, m->n_labels, renamed) : 0;
	if (*n)
		rename_labels(&m->sides[0], renamed);
	free(renamed);
	free(votes.items);
	hash_index_finish(&votes.index);
	lonelies_finish(&lonelies);
	return fine;
}

/* Stacks that are equal but for labels of one build alone, whose number may differ. False: no memory. */
static bool join_without_lonely_labels(struct matching *m)
{
	struct lonelies l = { 0 };
	note_labels(m);
	const bool fine = collect_lonelies(m, true, &l);
	for (uint32_t i = 0; fine && i < l.n; i++) {
		if (is_pair(&l.items[i]) && are_alike(m, &l.items[i]))
			join(m, l.items[i].stacks[0], l.items[i].stacks[1], MATCH_MOVED);
	}
	lonelies_finish(&l);
	return fine;
}

/* ---- Common subsequences ---- */

/* Of two texts that differ at both ends, a table of two rows. */
static uint32_t common_middle(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b)
{
	uint16_t row[MOST_MIDDLE + 1] = { 0 };
	for (uint32_t i = 0; i < n_a; i++) {
		uint16_t diagonal = 0;
		for (uint32_t k = 0; k < n_b; k++) {
			const uint16_t above = row[k + 1];
			const uint16_t longest = above > row[k] ? above : row[k];
			row[k + 1] = a[i] == b[k] ? (uint16_t)(diagonal + 1) : longest;
			diagonal = above;
		}
	}
	return row[n_b];
}

uint32_t match_common(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b, uint64_t *budget)
{
	uint32_t common = 0;
	while (n_a && n_b && *a == *b) {
		a++, b++, n_a--, n_b--;
		common++;
	}
	while (n_a && n_b && a[n_a - 1] == b[n_b - 1]) {
		n_a--, n_b--;
		common++;
	}
	const uint64_t cells = (uint64_t)n_a * n_b;
	if (cells == 0 || cells > *budget || n_a > MOST_MIDDLE || n_b > MOST_MIDDLE)
		return common;
	*budget -= cells;
	return common + common_middle(a, n_a, b, n_b);
}

/* ---- The same ends ---- */

struct pair {
	float ratio;
	uint32_t a, b;
	uint64_t distance; /* of their calls */
};

struct pairs {
	struct pair *items;
	size_t n, room;
};

static int compare_ends(const struct candidate *x, const struct candidate *y)
{
	const uint32_t inner_x = x->text.labels[0], inner_y = y->text.labels[0];
	const uint32_t outer_x = x->text.labels[x->text.n - 1], outer_y = y->text.labels[y->text.n - 1];
	if (inner_x != inner_y)
		return inner_x < inner_y ? -1 : 1;
	return (outer_x > outer_y) - (outer_x < outer_y);
}

static int compare_stacks(const struct candidate *x, const struct candidate *y)
{
	if (x->side != y->side)
		return x->side < y->side ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static int compare_inwards(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	const int ends = compare_ends(x, y);
	if (ends)
		return ends;
	for (uint32_t i = 1; i <= x->text.n && i <= y->text.n; i++) {
		const uint32_t l = x->text.labels[x->text.n - i], r = y->text.labels[y->text.n - i];
		if (l != r)
			return l < r ? -1 : 1;
	}
	return x->text.n != y->text.n ? (x->text.n > y->text.n) - (x->text.n < y->text.n)
				      : compare_stacks(x, y);
}

static int compare_outwards(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	const int ends = compare_ends(x, y);
	if (ends)
		return ends;
	for (uint32_t i = 0; i < x->text.n && i < y->text.n; i++) {
		if (x->text.labels[i] != y->text.labels[i])
			return x->text.labels[i] < y->text.labels[i] ? -1 : 1;
	}
	return x->text.n != y->text.n ? (x->text.n > y->text.n) - (x->text.n < y->text.n)
				      : compare_stacks(x, y);
}

/* Keeps the pair if it is alike enough. False: no memory. */
static bool try_pair(struct matching *m, const struct candidate *x, const struct candidate *y,
		     struct pairs *pairs)
{
	const struct candidate *a = x->side ? y : x, *b = x->side ? x : y;
	/* Two shortened ones may have other ends. */
	if (a->side == b->side || (a->shortened && b->shortened))
		return true;
	const struct text s = text_of(&m->sides[0], a->stack), t = text_of(&m->sides[1], b->stack);
	const uint32_t least = s.n < t.n ? s.n : t.n;
	const double all = (double)s.n + t.n;
	if (2.0 * least / all < LEAST_RATIO)
		return true;
	const uint32_t common = match_common(s.labels, s.n, t.labels, t.n, &m->budget);
	const double ratio = 2.0 * common / all;
	if (ratio < (a->shortened || b->shortened ? SHORTENED_RATIO : LEAST_RATIO))
		return true;
	if (!array_reserve(&pairs->items, pairs->n, &pairs->room, sizeof(*pairs->items)))
		return false;
	pairs->items[pairs->n++] = (struct pair){
		.ratio = (float)ratio,
		.a = a->stack,
		.b = b->stack,
		.distance = a->calls > b->calls ? a->calls - b->calls : b->calls - a->calls,
	};
	return true;
}

/* All pairs of a small bucket; of a large one those of neighbours. */
static bool try_bucket(struct matching *m, const struct candidate *c, uint32_t n, struct pairs *pairs)
{
	const bool whole = n <= WHOLE_BUCKET;
	for (uint32_t i = 0; i < n; i++) {
		unsigned tried = 0;
		for (uint32_t k = i + 1; k < n && (whole || tried < NEIGHBOURS); k++) {
			tried += c[i].side != c[k].side;
			if (!whole && k - i > 8 * NEIGHBOURS)
				break;
			if (!try_pair(m, &c[i], &c[k], pairs))
				return false;
		}
	}
	return true;
}

static bool try_order(struct matching *m, struct candidate *c, uint32_t n,
		      int (*compare)(const void *, const void *), struct pairs *pairs)
{
	bool fine = true;
	array_sort(c, n, sizeof(*c), compare);
	for (uint32_t i = 0, end; fine && i < n; i = end) {
		for (end = i + 1; end < n && compare_ends(&c[i], &c[end]) == 0;)
			end++;
		fine = try_bucket(m, c + i, end - i, pairs);
	}
	return fine;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	if (x->ratio != y->ratio)
		return x->ratio > y->ratio ? -1 : 1;
	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return (x->b > y->b) - (x->b < y->b);
}

/* Once more each candidate that has a caller, without its innermost function. */
static uint32_t add_shortened(struct candidate *c, uint32_t n)
{
	uint32_t all = n;
	for (uint32_t i = 0; i < n; i++) {
		if (c[i].text.n < 2)
			continue;
		c[all] = c[i];
		c[all].text.labels++;
		c[all].text.n--;
		c[all++].shortened = true;
	}
	return all;
}

/*
 * Of candidates with the same ends; with `shorten` an innermost function may be missing on one side, as after a tail call.
 * False: no memory.
 */
static bool join_similar(struct matching *m, bool shorten)
{
	const size_t most = 2 * ((size_t)m->sides[0].given->n + m->sides[1].given->n);
	struct candidate *c = malloc((most + 1) * sizeof(*c));
	struct pairs pairs = { 0 };
	bool fine = c;
	uint32_t n = fine ? list_candidates(m, false, c) : 0;
	n = shorten ? add_shortened(c, n) : n;
	if (n)
		fine = try_order(m, c, n, compare_inwards, &pairs) &&
		       try_order(m, c, n, compare_outwards, &pairs);
	array_sort(pairs.items, pairs.n, sizeof(*pairs.items), compare_pairs);
	for (size_t i = 0; fine && i < pairs.n; i++) {
		const struct pair *p = &pairs.items[i];
		if (is_free(&m->sides[0], p->a) && is_free(&m->sides[1], p->b))
			join(m, p->a, p->b, MATCH_MOVED);
	}
	free(pairs.items);
	free(c);
	return fine;
}

/* ---- All of it ---- */

static bool side_allocate(struct side *s, uint32_t n_labels)
{
	size_t n = 0;
	for (uint32_t i = 0; i < s->given->n; i++)
		n += s->given->stacks[i].n;
	s->memory = malloc((n + 1) * sizeof(*s->memory));
	s->texts = malloc((s->given->n + (size_t)1) * sizeof(*s->texts));
	s->lengths = malloc((s->given->n + (size_t)1) * sizeof(*s->lengths));
	s->known = malloc((size_t)n_labels + 1);
	s->vague = malloc(s->given->n + (size_t)1);
	return s->memory && s->texts && s->lengths && s->known && s->vague;
}

static bool side_prepare(struct side *s, const struct match_side *given, const struct match_labels *labels,
			 uint32_t *partner)
{
	*s = (struct side){ .given = given, .partner = partner };
	if (!side_allocate(s, labels->n))
		return false;
	uint32_t *to = s->memory;
	for (uint32_t i = 0; i < given->n; i++) {
		const struct match_stack *stack = &given->stacks[i];
		uint32_t nameless = 0;
		s->texts[i] = to;
		s->lengths[i] = stack->n;
		for (uint32_t k = 0; k < stack->n; k++) {
			assert(stack->labels[k] < labels->n);
			nameless += labels->nameless[stack->labels[k]];
			*to++ = labels->loose[stack->labels[k]];
		}
		s->vague[i] = 2 * nameless > stack->n;
	}
	return true;
}

static void side_finish(struct side *s)
{
	free(s->memory);
	free(s->texts);
	free(s->lengths);
	free(s->known);
	free(s->vague);
}

static bool join_renamed(struct matching *m)
{
	uint32_t n;
	for (int round = 0; round < MOST_ROUNDS; round++) {
		if (!rename_some(m, &n))
			return false;
		if (n == 0)
			return true;
		if (!join_equal(m, false, MATCH_RENAMED))
			return false;
	}
	return true;
}

/* From now on calls of a function by itself count as one: compilers split functions, and inputs differ in depth. */
static void collapse(struct side *s)
{
	for (uint32_t i = 0; i < s->given->n; i++) {
		uint32_t *text = s->texts[i], n = 0;
		for (uint32_t k = 0; k < s->lengths[i]; k++) {
			if (n == 0 || text[n - 1] != text[k])
				text[n++] = text[k];
		}
		s->lengths[i] = n;
	}
}

static bool join_moved(struct matching *m)
{
	collapse(&m->sides[0]);
	collapse(&m->sides[1]);
	return join_equal(m, false, MATCH_MOVED) && join_without_lonely_labels(m) && join_similar(m, false) &&
	       join_similar(m, true);
}

/* From now on stacks are without the insides of libraries, but for those that have nothing else. */
static void leave_out_hidden(struct side *s, const uint8_t *hidden)
{
	for (uint32_t i = 0; i < s->given->n; i++) {
		uint32_t *text = s->texts[i], shown = 0, n = 0;
		for (uint32_t k = 0; k < s->lengths[i]; k++)
			shown += !hidden[text[k]];
		for (uint32_t k = 0; shown && k < s->lengths[i]; k++) {
			if (!hidden[text[k]])
				text[n++] = text[k];
		}
		s->lengths[i] = shown ? n : s->lengths[i];
	}
}

static bool join_without_hidden(struct matching *m)
{
	if (!m->hidden)
		return true;
	leave_out_hidden(&m->sides[0], m->hidden);
	leave_out_hidden(&m->sides[1], m->hidden);
	return join_moved(m);
}

bool match_stacks(struct match *match, const struct match_side *old_side, const struct match_side *new_side,
		  const struct match_labels *labels)
{
	struct matching m = { .n_labels = labels->n, .hidden = labels->hidden, .budget = BUDGET };
	match->new_of = malloc((old_side->n + (size_t)1) * sizeof(*match->new_of));
	match->old_of = malloc((new_side->n + (size_t)1) * sizeof(*match->old_of));
	match->how = calloc(old_side->n + (size_t)1, sizeof(*match->how));
	bool fine = match->new_of && match->old_of && match->how;
	if (fine) {
		memset(match->new_of, 0xff, old_side->n * sizeof(*match->new_of));
		memset(match->old_of, 0xff, new_side->n * sizeof(*match->old_of));
		m.how = match->how;
		fine = side_prepare(&m.sides[0], old_side, labels, match->new_of) &&
		       side_prepare(&m.sides[1], new_side, labels, match->old_of) &&
		       join_equal(&m, true, MATCH_SAME) && join_equal(&m, false, MATCH_SAME) &&
		       join_renamed(&m) && join_moved(&m) && join_without_hidden(&m);
	}
	side_finish(&m.sides[0]);
	side_finish(&m.sides[1]);
	return fine;
}
