/* SPDX-License-Identifier: MIT */
/*
 * Looks for an allocator that is linked into a program, or is a library of one, and plans how calls of its functions reach the
 * recorder. The file is hostile input.
 */
#ifndef TRACE_RECORD_ENTRY_PLANNER_H
#define TRACE_RECORD_ENTRY_PLANNER_H

#include <elf.h>

#include "elf_file.h"
#include "entry_plan.h"

/*
 * Makes the plan for the program, for this processor, with that header. NULL, or why its allocator cannot be recorded, as a
 * sentence to be freed; then the plan is empty.
 */
char *entry_planner_plan(const struct elf_file *f, const Elf64_Ehdr *header, struct entry_plan *plan);

/* The same for libc's library, of which forks and dlclose() are to be seen, too. */
char *entry_planner_plan_libc(const struct elf_file *f, const Elf64_Ehdr *header, struct entry_plan *plan);

#endif
