/* SPDX-License-Identifier: MIT */
/* In place of displace.c, where a build has no decoder of instructions, or msrec patches no code. */
#include "displace.h"

#include "libc.h"
#include "os.h"

const char *displace_first(const struct code *code, uint64_t size, struct entry *entry)
{
	(void)code;
	(void)size;
	(void)entry;
	return CPU_PATCHES_CODE && LIBC_IS_PATCHED
		       ? "this build of msrec lacks libzydis, which decodes instructions"
		       : "msrec puts jumps into code on x86-64 with glibc alone";
}

bool displace_is_target(const struct code *code, uint64_t size, const struct entry *entry)
{
	(void)code;
	(void)size;
	(void)entry;
	return true;
}

bool displace_may_be_target(const struct code *code, const struct entry *entries, uint32_t n)
{
	(void)code;
	(void)entries;
	return n > 0;
}
