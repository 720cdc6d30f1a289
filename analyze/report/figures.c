/* SPDX-License-Identifier: MIT */
#include "figures.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Divides by `step` until the figure rounds to less than that, and prints three digits and a unit. */
static void print_scaled(char text[FIGURE_SIZE], double value, double step, const char *const *units,
			 size_t n)
{
	size_t i = 0;
	while (i + 1 < n && value >= step - .5) {
		value /= step;
		i++;
	}
	const int decimals = i == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	snprintf(text, FIGURE_SIZE, "%.*f %s", decimals, value, units[i]);
}

char *figure_bytes(char text[FIGURE_SIZE], uint64_t n, bool si)
{
	static const char *const binary[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	static const char *const decimal[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	if (n < (si ? 1000 : 1024))
		snprintf(text, FIGURE_SIZE, "%" PRIu64 " B", n);
	else
		print_scaled(text, (double)n, si ? 1000 : 1024, si ? decimal : binary, COUNT(binary));
	return text;
}

char *figure_change(char text[FIGURE_SIZE], uint64_t n, bool si)
{
	char bytes[FIGURE_SIZE];
	const bool negative = (int64_t)n < 0;
	snprintf(text, FIGURE_SIZE, "%c%.30s", negative ? '-' : '+',
		 figure_bytes(bytes, negative ? -n : n, si));
	return text;
}

char *figure_count_change(char text[FIGURE_SIZE], uint64_t n)
{
	char count[FIGURE_SIZE];
	const bool negative = (int64_t)n < 0;
	snprintf(text, FIGURE_SIZE, "%c%.30s", negative ? '-' : '+', thousands(count, negative ? -n : n));
	return text;
}

char *figure_time(char text[FIGURE_SIZE], uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	const uint64_t seconds = ns / 1000000000;
	if (seconds < 120)
		print_scaled(text, (double)ns, 1000, units, COUNT(units));
	else if (seconds < 7200)
		snprintf(text, FIGURE_SIZE, "%" PRIu64 " min %02" PRIu64 " s", seconds / 60, seconds % 60);
	else
		snprintf(text, FIGURE_SIZE, "%" PRIu64 " h %02" PRIu64 " min", seconds / 3600,
			 seconds / 60 % 60);
	return text;
}

char *figure_share(char text[FIGURE_SIZE], double share)
{
	const double percent = share * 100;
	if (percent > 0 && percent < 1)
		return strcpy(text, "<1 %");
	if (percent > 99 && percent < 100)
		return strcpy(text, ">99 %");
	snprintf(text, FIGURE_SIZE, "%.0f %%", percent);
	return text;
}

char *figure_share_change(char text[FIGURE_SIZE], double share)
{
	const double percent = share * 100, size = percent < 0 ? -percent : percent;
	if (share >= 9)
		snprintf(text, FIGURE_SIZE, "x %.*f", share < 99 ? 1 : 0, share + 1);
	else
		snprintf(text, FIGURE_SIZE, "%+.*f %%", size < 9.95 ? 1 : 0, percent);
	return text;
}

char *figure_rate(char text[FIGURE_SIZE], uint64_t n, uint64_t ns)
{
	static const char *const units[] = { "/s", "k/s", "M/s", "G/s" };
	print_scaled(text, ns ? (double)n * 1e9 / (double)ns : 0, 1000, units, COUNT(units));
	return text;
}
