/* SPDX-License-Identifier: MIT */
/*
 * dl LIBRARY LIBRARY: each is opened, used and closed, then the first is opened again, perhaps at
 * the address the second had.
 *
 * Known answer: blocks of 1000, 2 * 2000 and 3000 bytes from the libraries and of 10 from here;
 * all others are the dynamic loader's.
 */
#include <dlfcn.h>
#include <stdlib.h>

static int use(const char *library, size_t n, int flags)
{
	void *handle = dlopen(library, RTLD_LOCAL | flags);
	void *(*make)(size_t);
	void *block;

	if (!handle)
		return 1;
	*(void **)&make = dlsym(handle, "dl_make");
	if (!make)
		return 1;
	block = make(n);
	free(malloc(10));
	free(block);
	dlclose(handle);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	return use(argv[1], 1000, RTLD_NOW) || use(argv[2], 2000, RTLD_NOW) || use(argv[1], 3000, RTLD_LAZY);
}
