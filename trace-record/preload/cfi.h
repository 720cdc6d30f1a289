/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: how .eh_frame finds the caller of a function.
 *
 * Format: System V ABI (register numbers), DWARF 5 sections 6.4 and 2.5 (programs and expressions), Linux Standard Base
 * 10.6 (.eh_frame, .eh_frame_hdr, pointer encodings).
 *
 * Runs inside the recorded program, in any thread, at any time: no allocation, no lock, no errno, no global state. The
 * tables are read where the loader mapped them, never outside the given range. Memory of the program is read
 * only through the caller's function.
 */
#ifndef MSREC_CFI_H
#define MSREC_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "cfi_registers.h"

/*
 * An object's tables, each with the readable bytes around it: .eh_frame_hdr (PT_GNU_EH_FRAME) at `header` (0: none), and
 * all of .eh_frame in [start, end), which may be in another segment.
 */
struct cfi_section {
	uintptr_t header, header_end;
	uintptr_t start, end;
};

/* One function: its frame description entry, with what that takes from its common entry. */
struct cfi_function {
	uintptr_t start, end;               /* the code it describes */
	const uint8_t *common, *common_end; /* the program shared by the functions of one CIE */
	const uint8_t *own, *own_end;       /* the function's program */
	uint64_t code_factor;
	int64_t data_factor;
	uint8_t return_register;
	uint8_t encoding; /* of pointers in the program */
	bool signal; /* a signal handler returns into it: its caller's pc is where that was interrupted */
};

enum cfi_kind {
	CFI_SAME = 0,      /* unchanged by the function, or nothing said */
	CFI_UNDEFINED,     /* lost; for the return address: outermost frame */
	CFI_OFFSET,        /* saved at CFA + value */
	CFI_VAL_OFFSET,    /* equals CFA + value */
	CFI_IN_REGISTER,   /* is in register `value` */
	CFI_EXPRESSION,    /* saved where the expression at address `value` says */
	CFI_VAL_EXPRESSION /* what the expression at address `value` says */
};

/* The rules that hold at one pc. */
struct cfi_row {
	int64_t value[CFI_REGISTERS];
	uint8_t kind[CFI_REGISTERS];
	uint8_t cfa_register;
	bool cfa_is_expression;
	bool signed_return; /* the return address is */
	int64_t cfa;        /* offset from cfa_register, or the expression */
};

#define CFI_REMEMBERED 8
#define CFI_STACK 32

/* Working memory (about 2.5 KiB), kept off the program's stack, which may be tiny. */
struct cfi_work {
	struct cfi_row row, initial;
	struct cfi_row remembered[CFI_REMEMBERED];
	uint64_t stack[CFI_STACK];
};

/* Registers of a frame; bit n of `known` says that value[n] is known. */
struct cfi_state {
	uint64_t value[CFI_REGISTERS];
	cfi_set known;
};

enum cfi_result {
	CFI_OK,
	CFI_OUTERMOST,      /* the frame has no caller */
	CFI_NEEDS_REGISTER, /* a rule reads a register that is not known */
	CFI_FAILED          /* no rule, broken rule, or unreadable memory */
};

/*
 * Reads `bytes` (1, 2, 4 or 8) of the program's memory, zero-extended; false: not readable. `link`: the caller's pc, stack
 * pointer or frame pointer may depend on the value.
 */
typedef bool cfi_read_function(void *context, uintptr_t address, unsigned bytes, bool link, uint64_t *value);

/* One frame step outwards and what it depended on. */
struct cfi_step {
	cfi_read_function *read;
	void *context;
	struct cfi_state *state; /* in: the frame's registers; out: the caller's */
	bool all_registers;      /* false: only those of CFI_FOLLOWED are wanted */
	cfi_set used;            /* out: registers that these depended on */
	uintptr_t return_at;     /* out: where the return address was read, 0 = nowhere */
};

/* Where .eh_frame begins; 0: there is no valid header. */
uintptr_t cfi_frames(uintptr_t header, uintptr_t header_end);

/* Finds the description of the code at `address`. */
bool cfi_find(const struct cfi_section *section, uintptr_t address, struct cfi_function *found);

/* Parses the description at `at`. False if it, or its common entry, is not within the section. */
bool cfi_parse(const struct cfi_section *section, uintptr_t at, struct cfi_function *found);

/* Computes the rules at `address` into work->row. */
bool cfi_find_row(const struct cfi_function *function, uintptr_t address, struct cfi_work *work);

/* Computes one row after the other into work->row, and passes the code [start, end) for which it holds. */
typedef void cfi_row_function(void *context, const struct cfi_function *function, uintptr_t start,
			      uintptr_t end);
void cfi_each_row(const struct cfi_function *function, struct cfi_work *work, cfi_row_function *take,
		  void *context);

/* Applies work->row. On CFI_OK *step->state holds the caller's registers; else *step->state is unchanged. */
enum cfi_result cfi_take_step(struct cfi_step *step, struct cfi_work *work);

#endif
