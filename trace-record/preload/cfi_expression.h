/* SPDX-License-Identifier: MIT */
/* Evaluates DWARF expressions (DWARF 5, 2.5) in rules of call frame information. Runs where cfi.h runs. */
#ifndef PRELOAD_CFI_EXPRESSION_H
#define PRELOAD_CFI_EXPRESSION_H

#include "cfi.h"

/*
 * Evaluates the expression block at `at`, whose length cfi_find_row() checked. `base` is pushed first when it is not
 * NULL; `link` as for cfi_read_function.
 */
enum cfi_result cfi_evaluate(struct cfi_step *step, struct cfi_work *work, int64_t at, const uint64_t *base,
			     bool link, uint64_t *value);

/* Reads a register of the frame: CFI_OK, CFI_NEEDS_REGISTER, or CFI_FAILED if it has no number below CFI_REGISTERS. */
enum cfi_result cfi_read_register(struct cfi_step *step, uint64_t reg, bool link, uint64_t *value);

#endif
