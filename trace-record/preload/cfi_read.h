/* SPDX-License-Identifier: MIT */
/* Reads the numbers and pointers in call frame information. */
#ifndef PRELOAD_CFI_READ_H
#define PRELOAD_CFI_READ_H

#include <dwarf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Parts of a pointer's encoding, DW_EH_PE_*. */
#define PE_FORMAT 0x0f
#define PE_RELATION 0x70

/* Reads from `at` on, never at or after `end`. A read beyond gives zeros and sets `bad`, so a parser checks once, at its end. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline uint64_t read_bytes(struct cursor *c, unsigned bytes)
{
	uint64_t value = 0;

	if ((size_t)(c->end - c->at) < bytes) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	memcpy(&value, c->at, bytes);
	c->at += bytes;
	return value;
}

static inline int64_t read_signed(struct cursor *c, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return (int64_t)(read_bytes(c, bytes) << shift) >> shift;
}

static inline uint64_t read_uleb(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = (uint8_t)read_bytes(c, 1);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static inline int64_t read_sleb(struct cursor *c)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)read_bytes(c, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

static inline void skip_bytes(struct cursor *c, uint64_t bytes)
{
	if ((uint64_t)(c->end - c->at) < bytes) {
		c->bad = true;
		c->at = c->end;
	} else {
		c->at += bytes;
	}
}

/* Reads a pointer without following DW_EH_PE_indirect; `data` is the base of data-relative pointers. */
static inline uint64_t read_pointer(struct cursor *c, uint8_t encoding, uintptr_t data)
{
	uintptr_t here = (uintptr_t)c->at;
	uint64_t value = 0;

	if (encoding == DW_EH_PE_omit)
		return 0;
	switch (encoding & PE_FORMAT) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = read_bytes(c, 8);
		break;
	case DW_EH_PE_uleb128:
		value = read_uleb(c);
		break;
	case DW_EH_PE_sleb128:
		value = (uint64_t)read_sleb(c);
		break;
	case DW_EH_PE_udata2:
		value = read_bytes(c, 2);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)read_signed(c, 2);
		break;
	case DW_EH_PE_udata4:
		value = read_bytes(c, 4);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)read_signed(c, 4);
		break;
	default:
		c->bad = true;
	}
	switch (encoding & PE_RELATION) {
	case 0:
		break;
	case DW_EH_PE_pcrel:
		value += here;
		break;
	case DW_EH_PE_datarel:
		value += data;
		break;
	default:
		c->bad = true;
	}
	return value;
}

#endif
