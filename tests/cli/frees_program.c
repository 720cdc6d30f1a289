/* SPDX-License-Identifier: MIT */
/*
 * frees_program MODE: frees of all sorts, by the names that a C++ compiler gives the operators. Modes:
 *
 *   pairs   each way to get a block with each way to free it: block number `a * N_FREES + f` has 1000 bytes and that many
 *   fails   calls that give nothing
 *   double  frees a block of 1234 bytes twice
 *   never   frees what was never allocated
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 64

void *_Znwm(size_t size);
void *_Znam(size_t size);
void *_ZnwmSt11align_val_t(size_t size, size_t align);
void *_ZnamSt11align_val_t(size_t size, size_t align);
void _ZdlPv(void *p);
void _ZdaPv(void *p);
void _ZdlPvm(void *p, size_t size);
void _ZdaPvm(void *p, size_t size);
void _ZdlPvSt11align_val_t(void *p, size_t align);
void _ZdaPvmSt11align_val_t(void *p, size_t size, size_t align);
void *_ZnwmRKSt9nothrow_t(size_t size, const void *tag);

static void *give(unsigned how, size_t size)
{
	switch (how) {
	case 0:
		return malloc(size);
	case 1:
		return calloc(1, size);
	case 2:
		return aligned_alloc(ALIGN, size);
	case 3:
		return realloc(malloc(1), size);
	case 4:
		return _Znwm(size);
	case 5:
		return _Znam(size);
	case 6:
		return _ZnwmSt11align_val_t(size, ALIGN);
	default:
		return _ZnamSt11align_val_t(size, ALIGN);
	}
}

#define N_GIVES 8u

static void take(unsigned how, void *p, size_t size)
{
	switch (how) {
	case 0:
		free(p);
		break;
	case 1:
		_ZdlPv(p);
		break;
	case 2:
		_ZdaPv(p);
		break;
	case 3:
		_ZdlPvm(p, size);
		break;
	case 4:
		_ZdlPvm(p, size + 1);
		break;
	case 5:
		_ZdaPvm(p, size);
		break;
	case 6:
		_ZdlPvSt11align_val_t(p, ALIGN);
		break;
	case 7:
		_ZdlPvSt11align_val_t(p, 2 * ALIGN);
		break;
	default:
		_ZdaPvmSt11align_val_t(p, size, ALIGN);
		break;
	}
}

#define N_FREES 9u

static void pairs(void)
{
	for (unsigned a = 0; a < N_GIVES; a++) {
		for (unsigned f = 0; f < N_FREES; f++) {
			const size_t size = 1000 + a * N_FREES + f;

			take(f, give(a, size), size);
		}
	}
}

static void fails(void)
{
	void *volatile p = malloc(SIZE_MAX / 2 - 1);
	void *q = NULL;

	p = calloc(SIZE_MAX / 2, 3);
	p = realloc(malloc(77), SIZE_MAX / 2 - 4);
	if (posix_memalign(&q, 3, 1001) == 0)
		abort();
	p = _ZnwmRKSt9nothrow_t(SIZE_MAX / 2 - 3, "");
	p = malloc(0);
	free(p);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	char *volatile p = malloc(1234);
	uint64_t stack[64] __attribute__((aligned(64))) = { 0, 0x91 };

	if (strcmp(mode, "pairs") == 0)
		pairs();
	if (strcmp(mode, "fails") == 0)
		fails();
	free(p);
	if (strcmp(mode, "double") == 0)
		free(p);
	if (strcmp(mode, "never") == 0)
		free((char *)stack + 8);
	return 0;
}
