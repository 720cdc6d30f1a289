/* SPDX-License-Identifier: MIT */
#ifndef PRELOAD_EXIT_H
#define PRELOAD_EXIT_H

#include <stdbool.h>

#include "registers.h"

/*
 * At the end of a process, once, as under Valgrind: frees what the libraries keep to the end. `quickly`: the process ends
 * without writing what stdio holds back.
 */
void exit_free_resources(const struct unwind_regs *regs, bool quickly);

#endif
