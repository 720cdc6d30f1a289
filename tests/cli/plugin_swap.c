/* SPDX-License-Identifier: MIT */
/*
 * Between the recorder and libc in plugin_host_swapped: before its dlclose() returns, and the recorder compares the
 * modules, the next plug-in is mapped at the closed one's address, as another thread could do it.
 */

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

static void *ahead;

static void *other_thread(void *unused)
{
	pause();
	return unused;
}

static __attribute__((constructor)) void begin(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, other_thread, NULL);
}

int dlclose(void *handle)
{
	int (*real)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	static unsigned n;
	const int result = real(handle);

	if (ahead)
		real(ahead);
	ahead = dlopen(++n % 2 ? "./plugin_two.so" : "./plugin_one.so", RTLD_NOW);
	return result;
}
