/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "streams.h"

#define FIRST_S 1.0
#define EACH_S 0.2

bool term_colour_parse(const char *text, enum term_colour *colour)
{
	static const char *const names[] = { "auto", "always", "never" };
	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*colour = (enum term_colour)i;
		return true;
	}
	return false;
}

static bool is_capable(int fd)
{
	const char *term = getenv("TERM");
	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

bool term_colour_wanted(enum term_colour colour, int fd)
{
	if (colour != TERM_COLOUR_AUTO)
		return colour == TERM_COLOUR_ALWAYS;
	const char *no_color = getenv("NO_COLOR");
	return is_capable(fd) && (!no_color || *no_color == '\0');
}

static struct timespec now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t;
}

static double seconds(const struct timespec *from, const struct timespec *to)
{
	return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

void progress_begin(struct progress *p, const char *tool, int fd, bool quiet)
{
	*p = (struct progress){ .tool = tool, .fd = fd };
	p->enabled = !quiet && is_capable(STDERR_FILENO);
	p->start = p->last = now();
	struct stat st;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		p->size = st.st_size;
}

static void show(struct progress *p, double elapsed)
{
	FILE *to = streams_terminal();

	fprintf(to, "\r%s: %.1f M events, %.1f M/s", p->tool, (double)p->events / 1e6,
		(double)p->events / 1e6 / elapsed);
	int64_t offset = p->size > 0 ? lseek(p->fd, 0, SEEK_CUR) : -1;
	if (offset > 0 && offset <= p->size)
		fprintf(to, ", %d %%, %.0f s left", (int)(100 * offset / p->size),
			elapsed * (double)(p->size - offset) / (double)offset);
	fputs("\033[K", to);
	fflush(to);
	p->shown = true;
}

void progress_add(struct progress *p, uint64_t events, bool decoded)
{
	p->events += events;
	p->chunks++;
	p->decoded += decoded;
	if (!p->enabled)
		return;
	struct timespec t = now();
	double elapsed = seconds(&p->start, &t);
	if (elapsed < FIRST_S || seconds(&p->last, &t) < EACH_S)
		return;
	p->last = t;
	show(p, elapsed);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", streams_terminal());
	p->shown = false;
}

double progress_seconds(const struct progress *p)
{
	struct timespec t = now();
	return seconds(&p->start, &t);
}
