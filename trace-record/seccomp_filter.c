/* SPDX-License-Identifier: MIT */
#include "seccomp_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define STEPS_MOST 200000u /* of all paths together */
#define FORKS_MOST 100u    /* of one path: a frame of the stack each */

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH has this processor?"
#endif

struct value {
	uint32_t bits;
	bool known;
};

struct machine {
	struct value a, x, memory[BPF_MEMWORDS];
	uint32_t pc;
};

struct run {
	const struct sock_filter *program;
	uint32_t n, steps, forks;
	const struct filter_call *call;
};

static struct value exactly(uint32_t bits)
{
	return (struct value){ bits, true };
}

/* A word of struct seccomp_data. */
static struct value data_word(const struct filter_call *call, uint32_t offset)
{
	const uint32_t first = (uint32_t)offsetof(struct seccomp_data, args);

	if (offset == offsetof(struct seccomp_data, nr))
		return exactly(call->number);
	if (offset == offsetof(struct seccomp_data, arch))
		return exactly(OWN_ARCH);
	if (offset >= first && (offset - first) / 8 == call->argument)
		return exactly(offset % 8 ? 0 : call->value); /* little-endian */
	return (struct value){ 0 };
}

static bool load(const struct run *run, struct machine *m, const struct sock_filter *f)
{
	struct value *const to = BPF_CLASS(f->code) == BPF_LD ? &m->a : &m->x;

	switch (BPF_MODE(f->code)) {
	case BPF_IMM:
		*to = exactly(f->k);
		return true;
	case BPF_LEN:
		*to = exactly(sizeof(struct seccomp_data));
		return true;
	case BPF_MEM:
		if (f->k >= BPF_MEMWORDS)
			return false;
		*to = m->memory[f->k];
		return true;
	case BPF_ABS:
		if (to != &m->a || BPF_SIZE(f->code) != BPF_W || f->k % 4 ||
		    f->k >= sizeof(struct seccomp_data))
			return false;
		*to = data_word(run->call, f->k);
		return true;
	default:
		return false;
	}
}

static bool store(struct machine *m, const struct sock_filter *f)
{
	if (f->k >= BPF_MEMWORDS)
		return false;
	m->memory[f->k] = BPF_CLASS(f->code) == BPF_ST ? m->a : m->x;
	return true;
}

/* A division by zero ends the program with 0, which kills. */
static bool compute(struct machine *m, const struct sock_filter *f)
{
	const struct value by = BPF_SRC(f->code) == BPF_X ? m->x : exactly(f->k);
	const uint8_t operation = BPF_OP(f->code);
	uint32_t a = m->a.bits;

	if ((operation == BPF_DIV || operation == BPF_MOD) && (!by.known || by.bits == 0))
		return false;
	switch (operation) {
	case BPF_ADD:
		a += by.bits;
		break;
	case BPF_SUB:
		a -= by.bits;
		break;
	case BPF_MUL:
		a *= by.bits;
		break;
	case BPF_DIV:
		a /= by.bits;
		break;
	case BPF_MOD:
		a %= by.bits;
		break;
	case BPF_AND:
		a &= by.bits;
		break;
	case BPF_OR:
		a |= by.bits;
		break;
	case BPF_XOR:
		a ^= by.bits;
		break;
	case BPF_LSH:
		a = by.bits < 32 ? a << by.bits : 0;
		break;
	case BPF_RSH:
		a = by.bits < 32 ? a >> by.bits : 0;
		break;
	case BPF_NEG:
		a = 0 - a;
		break;
	default:
		return false;
	}
	m->a.bits = a;
	m->a.known = m->a.known && (operation == BPF_NEG || by.known);
	return true;
}

static bool is_allowed(uint32_t result)
{
	const uint32_t action = result & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

static bool follow(struct run *run, struct machine *m);

/* Both ways, if it is not known which one is taken. */
static bool jump(struct run *run, struct machine *m, const struct sock_filter *f)
{
	const struct value by = BPF_SRC(f->code) == BPF_X ? m->x : exactly(f->k);
	const uint32_t a = m->a.bits, b = by.bits;
	struct machine other;
	bool taken;

	switch (BPF_OP(f->code)) {
	case BPF_JA:
		if (f->k >= run->n - m->pc)
			return false;
		m->pc += f->k;
		return true;
	case BPF_JEQ:
		taken = a == b;
		break;
	case BPF_JGT:
		taken = a > b;
		break;
	case BPF_JGE:
		taken = a >= b;
		break;
	case BPF_JSET:
		taken = a & b;
		break;
	default:
		return false;
	}
	if (!m->a.known || !by.known) {
		other = *m;
		other.pc += f->jf;
		taken = true;
		if (run->forks == FORKS_MOST)
			return false;
		run->forks++;
		if (!follow(run, &other))
			return false;
		run->forks--;
	}
	m->pc += taken ? f->jt : f->jf;
	return true;
}

/* From the machine's place to the ends of all paths. Jumps lead forward, so each path ends. */
static bool follow(struct run *run, struct machine *m)
{
	while (m->pc < run->n && run->steps++ < STEPS_MOST) {
		const struct sock_filter *const f = &run->program[m->pc++];
		bool good;

		switch (BPF_CLASS(f->code)) {
		case BPF_LD:
		case BPF_LDX:
			good = load(run, m, f);
			break;
		case BPF_ST:
		case BPF_STX:
			good = store(m, f);
			break;
		case BPF_ALU:
			good = compute(m, f);
			break;
		case BPF_JMP:
			good = jump(run, m, f);
			break;
		case BPF_RET:
			return BPF_RVAL(f->code) == BPF_K ? is_allowed(f->k)
							  : m->a.known && is_allowed(m->a.bits);
		default:
			good = true;
			if (BPF_MISCOP(f->code) == BPF_TAX)
				m->x = m->a;
			else
				m->a = m->x;
		}
		if (!good)
			return false;
	}
	return false;
}

bool filter_allows(const struct sock_filter *program, uint32_t n, const struct filter_call *call)
{
	struct run run = { .program = program, .n = n, .call = call };
	struct machine m = { 0 };

	m.a.known = m.x.known = true; /* zero at first */
	return follow(&run, &m);
}
