/* SPDX-License-Identifier: MIT */
/* In place of attachment.c and what is below it, where msrec does not patch code: no process is ever attached to. */
#include "attachment.h"

#include <stddef.h>

#include "refusal.h"

char *attachment_open(struct attachment **attachment, pid_t pid, const char *library)
{
	(void)attachment;
	(void)pid;
	(void)library;
	return refusal("can be attached to on x86-64 with glibc alone");
}

int attachment_family(struct attachment *attachment)
{
	(void)attachment;
	return -1;
}

const struct entry_plan *attachment_plan(const struct attachment *attachment)
{
	(void)attachment;
	return NULL;
}

char *attachment_begin(struct attachment *attachment)
{
	(void)attachment;
	return NULL;
}

bool attachment_leave(struct attachment *attachment, pid_t pid)
{
	(void)attachment;
	(void)pid;
	return true;
}

const char *attachment_want_census(struct attachment *attachment)
{
	(void)attachment;
	return NULL;
}

bool attachment_has_census(const struct attachment *attachment)
{
	(void)attachment;
	return false;
}

bool attachment_has_allocator(const struct attachment *attachment)
{
	(void)attachment;
	return false;
}

const struct census_result *attachment_census(const struct attachment *attachment)
{
	(void)attachment;
	return NULL;
}

void attachment_forget_census(struct attachment *attachment)
{
	(void)attachment;
}

struct attachment_stops attachment_stops(const struct attachment *attachment)
{
	(void)attachment;
	return (struct attachment_stops){ 0 };
}

void attachment_destroy(struct attachment *attachment)
{
	(void)attachment;
}
