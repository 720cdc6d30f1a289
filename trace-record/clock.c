/* SPDX-License-Identifier: MIT */
#include "clock.h"

#include <assert.h>
#include <time.h>

#include "os.h"

bool clock_tsc_usable(void)
{
	return cpu_clock_is_steady();
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Rounded down: a line at this rate never reaches further than `ns`. */
static uint64_t rate(uint64_t ns, uint64_t stamps)
{
	return (uint64_t)(((unsigned __int128)ns << 32) / stamps);
}

static uint64_t at_rate(uint64_t stamps, uint64_t rate)
{
	return (uint64_t)(((unsigned __int128)stamps * rate) >> 32);
}

void clock_start(struct clock *clock, bool use_tsc)
{
	const uint64_t now = monotonic_ns();

	*clock = (struct clock){ .use_tsc = use_tsc, .start_ns = now };
	clock->first = clock->stamp[0] = clock->stamp[1] = use_tsc ? cpu_clock_unordered() : now;
}

uint64_t clock_sample(struct clock *clock)
{
	const uint64_t now = monotonic_ns();

	assert(now - clock->start_ns >= clock->ns[1]);
	clock->stamp[0] = clock->stamp[1];
	clock->ns[0] = clock->ns[1];
	clock->stamp[1] = clock->use_tsc ? cpu_clock_unordered() : now;
	clock->ns[1] = now - clock->start_ns;
	if (clock->stamp[1] > clock->stamp[0])
		clock->scale = rate(clock->ns[1] - clock->ns[0], clock->stamp[1] - clock->stamp[0]);
	if (clock->stamp[0] > clock->first)
		clock->mean = rate(clock->ns[0], clock->stamp[0] - clock->first);
	return clock->stamp[1];
}

uint64_t clock_ns(const struct clock *clock, uint64_t stamp)
{
	if (stamp >= clock->stamp[1])
		return clock->ns[1];
	if (stamp >= clock->stamp[0]) {
		const uint64_t ns = clock->ns[0] + at_rate(stamp - clock->stamp[0], clock->scale);

		assert(ns <= clock->ns[1]);
		return ns;
	}
	if (stamp <= clock->first)
		return 0;
	assert(at_rate(clock->stamp[0] - stamp, clock->mean) <= clock->ns[0]);
	return clock->ns[0] - at_rate(clock->stamp[0] - stamp, clock->mean);
}

uint64_t clock_stamp(const struct clock *clock, uint64_t ns)
{
	uint64_t low = clock->first, high = clock->stamp[1];

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (clock_ns(clock, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return high;
}
