/* SPDX-License-Identifier: MIT */
#include "top_view.h"

#include <string.h>

bool top_order_parse(const char *word, enum top_order *order)
{
	for (unsigned i = 0; i < TOP_ORDERS; i++) {
		if (strcmp(word, top_order_names[i]) == 0) {
			*order = (enum top_order)i;
			return true;
		}
	}
	return false;
}

/* ---- The selection ---- */

static uint32_t row_count(const struct top_view *v, const struct top_sample *s)
{
	return v->page == TOP_THREADS ? s->n_threads : s->n_sites;
}

static void note_selected(struct top_view *v, const struct top_sample *s)
{
	if (v->page == TOP_THREADS && v->selected < s->n_threads)
		v->tid = s->threads[v->selected].tid;
	if (v->page == TOP_SITES && v->selected < s->n_sites)
		v->call = s->sites[v->selected].call;
}

static bool is_selected(const struct top_view *v, const struct top_sample *s, uint32_t row)
{
	return v->page == TOP_THREADS ? s->threads[row].tid == v->tid : s->sites[row].call == v->call;
}

static void scroll(struct top_view *v, uint32_t n, unsigned rows)
{
	if (v->selected >= n)
		v->selected = n ? n - 1 : 0;
	if (v->selected < v->first)
		v->first = v->selected;
	if (rows && v->selected >= v->first + rows)
		v->first = v->selected - rows + 1;
	if (v->first && v->first + rows > n)
		v->first = n > rows ? n - rows : 0;
}

void top_view_settle(struct top_view *v, const struct top_sample *s, unsigned rows)
{
	if (v->page != TOP_SITES && v->page != TOP_THREADS)
		return;
	const uint32_t n = row_count(v, s);
	for (uint32_t i = 0; v->moved && i < n; i++) {
		if (is_selected(v, s, i)) {
			v->selected = i;
			break;
		}
	}
	scroll(v, n, rows);
	note_selected(v, s);
}

static enum top_action move(struct top_view *v, const struct top_sample *s, int64_t by, unsigned rows)
{
	const uint32_t n = row_count(v, s);
	int64_t to = (int64_t)v->selected + by;
	if (n == 0)
		return TOP_NOTHING;
	to = to < 0 ? 0 : to >= n ? (int64_t)n - 1 : to;
	v->selected = (uint32_t)to;
	v->moved = to > 0;
	scroll(v, n, rows);
	note_selected(v, s);
	return TOP_DRAW;
}

/* Lines of a stack; the screen stops at the last one. */
static enum top_action move_frames(struct top_view *v, int64_t by)
{
	const int64_t to = (int64_t)v->first_frame + by;
	v->first_frame = to < 0 ? 0 : to > UINT16_MAX ? UINT16_MAX : (uint32_t)to;
	return TOP_DRAW;
}

/* ---- Pages ---- */

static enum top_action go(struct top_view *v, enum top_page page)
{
	if (v->page == page)
		return TOP_NOTHING;
	if (page == TOP_HELP || page == TOP_STACK)
		v->behind = v->page;
	if (v->page != TOP_HELP && v->page != TOP_STACK && page != TOP_HELP && page != TOP_STACK) {
		v->selected = v->first = 0;
		v->moved = false;
	}
	v->page = page;
	return TOP_REFRESH;
}

static enum top_action go_back(struct top_view *v)
{
	const enum top_page behind = v->behind;
	if (v->page != TOP_HELP && v->page != TOP_STACK)
		return TOP_NOTHING;
	v->page = behind;
	v->behind = TOP_SITES;
	return TOP_REFRESH;
}

static enum top_action open_stack(struct top_view *v, const struct top_sample *s)
{
	if (v->page != TOP_SITES || v->selected >= s->n_sites)
		return TOP_NOTHING;
	v->moved = true;
	v->stack = v->first_frame = 0;
	note_selected(v, s);
	return go(v, TOP_STACK);
}

static enum top_action other_stack(struct top_view *v, int by)
{
	if (v->page != TOP_STACK || v->n_stacks == 0)
		return TOP_NOTHING;
	v->stack = (v->stack + v->n_stacks + (uint32_t)by) % v->n_stacks;
	v->first_frame = 0;
	return TOP_DRAW;
}

static enum top_action set_order(struct top_view *v, enum top_order order)
{
	v->order = order;
	return TOP_REFRESH;
}

/* ---- Keys ---- */

static enum top_action move_key(struct top_view *v, const struct top_sample *s, int key, unsigned rows)
{
	const int64_t page = rows > 1 ? (int64_t)rows - 1 : 1;
	int64_t by = 0;
	switch (key) {
	case TOP_KEY_UP:
	case 'k':
		by = -1;
		break;
	case TOP_KEY_DOWN:
	case 'j':
		by = 1;
		break;
	case TOP_KEY_PAGE_UP:
		by = -page;
		break;
	case TOP_KEY_PAGE_DOWN:
		by = page;
		break;
	case TOP_KEY_HOME:
		by = INT32_MIN;
		break;
	case TOP_KEY_END:
		by = INT32_MAX;
		break;
	case TOP_KEY_LEFT:
		return other_stack(v, -1);
	case TOP_KEY_RIGHT:
		return other_stack(v, 1);
	}
	if (by == 0 || v->page == TOP_HELP)
		return TOP_NOTHING;
	return v->page == TOP_STACK ? move_frames(v, by) : move(v, s, by, rows);
}

static bool order_of_key(int key, enum top_order *order)
{
	static const char keys[TOP_ORDERS + 1] = {
		[TOP_BY_LIVE] = 'l',       [TOP_BY_GROWTH] = 'g', [TOP_BY_CALLS_RATE] = 'r',
		[TOP_BY_BYTES_RATE] = 'a', [TOP_BY_BLOCKS] = 'b', [TOP_BY_CALLS] = 'c'
	};
	const char *at = key > 0 && key < 128 ? strchr(keys, key) : NULL;
	if (at && *at)
		*order = (enum top_order)(at - keys);
	return at && *at;
}

enum top_action top_view_key(struct top_view *v, const struct top_sample *s, int key, unsigned rows)
{
	enum top_order order;
	if (order_of_key(key, &order))
		return set_order(v, order);
	switch (key) {
	case 'q':
		return TOP_QUIT;
	case 'h':
	case '?':
		return v->page == TOP_HELP ? go_back(v) : go(v, TOP_HELP);
	case TOP_KEY_ESCAPE:
		return go_back(v);
	case 's':
		return go(v, TOP_SITES);
	case 't':
		return go(v, TOP_THREADS);
	case '\t':
		return go(v, v->page == TOP_SITES ? TOP_THREADS : TOP_SITES);
	case 'p':
	case ' ':
		v->paused = !v->paused;
		return TOP_REFRESH;
	case TOP_KEY_ENTER:
	case '\r':
		return v->page == TOP_STACK ? go_back(v) : open_stack(v, s);
	case 'w':
		return TOP_REPORT;
	}
	return move_key(v, s, key, rows);
}
