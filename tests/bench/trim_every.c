/* SPDX-License-Identifier: MIT */
/* A library that whatif.py preloads to follow an advice: it calls malloc_trim(0) every $TRIM_EVERY milliseconds. */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static void *trim(void *every)
{
	const long ms = *(const long *)every;
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	for (;;) {
		nanosleep(&pause, NULL);
		malloc_trim(0);
	}
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	static long ms;
	pthread_t thread;
	const char *every = getenv("TRIM_EVERY");
	ms = every ? strtol(every, NULL, 10) : 0;
	if (ms > 0 && pthread_create(&thread, NULL, trim, &ms) == 0)
		pthread_detach(thread);
}
