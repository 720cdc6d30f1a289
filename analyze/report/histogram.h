/* SPDX-License-Identifier: MIT */
/*
 * How often values of any size occurred, in classes of which four double the value: class k holds the values from
 * histogram_from(k) to below histogram_from(k + 1). Values below 8 have classes of their own. A histogram takes 8 bytes,
 * and pages of 64 for each four octaves from its least value to its largest.
 */
#ifndef ANALYZE_HISTOGRAM_H
#define ANALYZE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum {
	HISTOGRAM_CLASSES = 252,
	HISTOGRAM_PAGE = 16, /* classes */
	HISTOGRAM_PAGES = (HISTOGRAM_CLASSES + HISTOGRAM_PAGE - 1) / HISTOGRAM_PAGE,
};

/* Pages of all histograms. Zero-initialise. */
struct histogram_pages {
	struct histogram_page {
		uint32_t counts[HISTOGRAM_PAGE]; /* the largest number stands for itself and more */
	} * items;
	uint32_t n, room;
	/* The first pages of rows that histograms outgrew, by the row's length; 0: none. */
	uint32_t vacant[HISTOGRAM_PAGES + 1];
};

void histogram_pages_finish(struct histogram_pages *pages);

/* Its n pages, from items[first] on, are number `from` of HISTOGRAM_PAGES and those behind it. Zero-initialised is empty. */
struct histogram {
	uint32_t first;
	uint8_t from, n;
};

static inline unsigned histogram_class(uint64_t value)
{
	if (value < 4)
		return (unsigned)value;
	const unsigned log2 = 63 - (unsigned)__builtin_clzll(value);
	return (log2 - 1) * 4 + (unsigned)(value >> (log2 - 2) & 3);
}

uint64_t histogram_from(unsigned class_number);

/* Makes a histogram reach over the class. False: no memory. */
bool histogram_reach(struct histogram *histogram, struct histogram_pages *pages, unsigned class_number);

/* Adds `n` values, which are alike. False: no memory. */
static inline bool histogram_add(struct histogram *h, struct histogram_pages *pages, uint64_t value,
				 uint64_t n)
{
	const unsigned number = histogram_class(value);
	if (number / HISTOGRAM_PAGE - h->from >= h->n && !histogram_reach(h, pages, number))
		return false;
	uint32_t *count =
		&pages->items[h->first + number / HISTOGRAM_PAGE - h->from].counts[number % HISTOGRAM_PAGE];
	*count = n > UINT32_MAX - *count ? UINT32_MAX : *count + (uint32_t)n;
	return true;
}

/* Adds the values of `from`, of pages of its own. False: no memory. */
bool histogram_merge(struct histogram *histogram, struct histogram_pages *pages, const struct histogram *from,
		     const struct histogram_pages *from_pages);

/*
 * The smallest value of the class in which `share` of all values, 0 to 1, are at or below: the median for .5. Of an empty
 * histogram: 0.
 */
uint64_t histogram_quantile(const struct histogram *histogram, const struct histogram_pages *pages,
			    double share);

#endif
