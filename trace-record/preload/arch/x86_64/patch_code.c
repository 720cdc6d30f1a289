/* SPDX-License-Identifier: MIT */
#include "patch_code.h"

#include <string.h>

#include "recorder_assert.h"
#include "trampoline.h"

#define MOV_EAX 0xb8u
#define JUMP 0xe9u

_Static_assert(PATCH_SITE_FIRST == MOV_EAX, "what a search looks for");

__asm__(".pushsection .text\n"
	".balign 4096\n"
	".globl patch_room\n"
	".hidden patch_room\n"
	"patch_room:\n"
	"	.fill 16384, 1, 0xcc\n"
	".popsection\n");
_Static_assert(PATCH_ROOM == 16384, "as it is filled");

/* The byte before may make the mov another instruction: a REX prefix. */
int patch_recognise(const uint8_t *code)
{
	if (code[0] != MOV_EAX || code[3] || code[4] || code[5] != 0x0f || code[6] != 0x05 ||
	    (code[-1] & 0xf0) == 0x40)
		return -1;
	return code[1] | code[2] << 8;
}

bool patch_in_reach(uintptr_t a, uintptr_t b)
{
	const uintptr_t distance = a > b ? a - b : b - a;

	return distance < ((uintptr_t)1 << 31) - 2 * PATCH_ROOM;
}

static void put(struct piece *p, const void *bytes, uint32_t n)
{
	RECORDER_ASSERT(p->n + n <= PATCH_PIECE);
	memcpy(p->bytes + p->n, bytes, n);
	p->n += n;
}

#define PUT(p, ...) put(p, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* The distance from behind the four bytes that it takes. */
static void put_distance(struct piece *p, uintptr_t to)
{
	const int32_t distance = (int32_t)(to - (p->at + p->n + 4));

	put(p, &distance, sizeof(distance));
}

/*
 * Calls the trampoline, below the red zone. The address behind the system call, `behind`, stands TRAMPOLINE_SITE_AT bytes
 * behind the return address.
 */
static void put_call(struct piece *p, uintptr_t region, uint64_t behind)
{
	uint32_t returns;

	PUT(p, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea -128(%rsp),%rsp */
	PUT(p, 0xff, 0x15);                   /* call *region(%rip) */
	put_distance(p, region);
	returns = p->n;
	RECORDER_ASSERT(returns + TRAMPOLINE_SITE_AT + sizeof(behind) <= PATCH_PIECE);
	memcpy(p->bytes + returns + TRAMPOLINE_SITE_AT, &behind, sizeof(behind));
	PUT(p, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea 128(%rsp),%rsp */
}

void patch_jump(struct piece *p, uintptr_t to)
{
	PUT(p, JUMP);
	put_distance(p, to);
}

void patch_constant(struct piece *p, uintptr_t region, uintptr_t site, uint16_t number)
{
	PUT(p, MOV_EAX, (uint8_t)number, (uint8_t)(number >> 8), 0, 0);
	put_call(p, region, site + PATCH_SITE_BYTES);
	patch_jump(p, site + PATCH_SITE_BYTES);
}

/* The system call is among the first instructions of the function. */
#define SYSCALL_MOST 64u

/* syscall; cmp $-4095,%rax */
static const uint8_t dynamic[] = { 0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff };

const uint8_t *patch_find_syscall(const uint8_t *code)
{
	return memmem(code, SYSCALL_MOST, dynamic, sizeof(dynamic));
}

void patch_syscall(struct piece *p, uintptr_t region, uintptr_t site, const uint16_t *numbers, unsigned n)
{
	uint32_t jumps[PATCH_PIECE / 8];

	for (unsigned i = 0; i < n; i++) {
		/* cmp $number,%rax; je */
		PUT(p, 0x48, 0x3d, (uint8_t)numbers[i], (uint8_t)(numbers[i] >> 8), 0, 0);
		PUT(p, 0x74, 0);
		jumps[i] = p->n;
	}
	put(p, dynamic, sizeof(dynamic));
	patch_jump(p, site + sizeof(dynamic));
	for (unsigned i = 0; i < n; i++)
		p->bytes[jumps[i] - 1] = (uint8_t)(p->n - jumps[i]);
	put_call(p, region, site + 2);
	put(p, dynamic + 2, sizeof(dynamic) - 2);
	patch_jump(p, site + sizeof(dynamic));
}
