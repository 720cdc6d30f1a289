/* SPDX-License-Identifier: MIT */
#include "untabled.h"

#include "elfsym.h"
#include "libc.h"
#include "os.h"
#include "return_path.h"
#include "sighting.h"

/* Functions of a C library that do not return, and that its own code calls. */
static const char *const endless_names[] = {
	"exit",    "_exit",      "_Exit",         "quick_exit",       "abort", "pthread_exit", "thrd_exit",
	"longjmp", "siglongjmp", "__assert_fail", "__stack_chk_fail", "err",   "errx",         "verr",
	"verrx"
};
#define ENDLESS_BYTES 4096u /* of one of them, at most */
#define ENDLESS (sizeof(endless_names) / sizeof(*endless_names))

/* Whether the word where the rule has the return address is one. */
static bool leads_to_call(const struct walk *w, uint64_t rule)
{
	const uintptr_t at = compact_return_at(rule, walk_compact_cfa(w, rule));
	uintptr_t pc;

	if (at % 8 != 0 || !os_readable(at))
		return false;
	pc = compact_return(rule, walk_load(at));
	return walk_may_be_code(pc) && return_path_follows_call(pc);
}

/* In one of these functions: it was called, though it does not return. */
static uint64_t endless_rule(struct walker *walker, const struct return_path_code *code, uintptr_t pc)
{
	uint64_t rule = RULE_NONE;

	for (unsigned i = 0; i < code->n_endless && rule == RULE_NONE; i++) {
		if (pc - code->endless[i] < ENDLESS_BYTES)
			rule = return_path_enter(code, code->endless[i], pc, walker->path);
	}
	return rule != RULE_NONE ? rule : RULE_OUTERMOST;
}

uint64_t untabled_rule(struct walker *walker, const struct walk *w)
{
	uint64_t answers[RETURN_PATH_RULES];
	struct return_path_code code = { 0 };
	uintptr_t endless[ENDLESS];
	struct sighting seen;
	unsigned n;

	if (LIBC_HAS_TABLES || !sighting_find(w->exact ? w->pc : w->pc - 1, &seen))
		return RULE_NONE;
	sighting_complete(&seen);
	for (unsigned i = 0; seen.headers && i < ENDLESS; i++) {
		endless[code.n_endless] =
			elfsym_in(seen.bias, seen.headers, seen.header_count, endless_names[i]);
		code.n_endless += endless[code.n_endless] != 0;
	}
	code.start = seen.start;
	code.end = seen.end;
	code.endless = endless;
	n = return_path_find(&code, w->pc, walker->path, answers);
	if (n == 1)
		return answers[0];
	for (unsigned i = 0; i < n; i++) {
		if (leads_to_call(w, answers[i]))
			return answers[i];
	}
	return endless_rule(walker, &code, w->pc);
}
