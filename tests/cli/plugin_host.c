/* SPDX-License-Identifier: MIT */
/* plugin_host ROUNDS [stop]: loads and unloads plug-ins in turns; with "stop" the parent stands still meanwhile. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N 2

static const char *const names[N] = { "plugin_one", "plugin_two" };

/* The blocks stay allocated. */
static void use(const char *path, const char *name)
{
	void *plugin = dlopen(path, RTLD_NOW);
	void *(*function)(void) = plugin ? (void *(*)(void))dlsym(plugin, name) : NULL;

	if (!function || !function())
		exit(2);
	dlclose(plugin);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 0, stops = argc > 2;

	if (stops)
		kill(getppid(), SIGSTOP);
	for (int i = 0; i < rounds; i++) {
		char path[64] = "./";

		strcat(strcat(path, names[i % N]), ".so");
		use(path, names[i % N]);
	}
	if (stops)
		kill(getppid(), SIGCONT);
	return 0;
}
