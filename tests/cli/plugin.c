/* SPDX-License-Identifier: MIT */
/* Loaded by plugin_host; built twice, with another NAME. */
#include <stdlib.h>

void *NAME(void);

void *NAME(void)
{
	void *volatile block = malloc(16);

	return block;
}
