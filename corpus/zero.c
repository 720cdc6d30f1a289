/* SPDX-License-Identifier: MIT */
/* Known answer: ten zero-size blocks, each freed at once; useful bytes stay 0 throughout. */
#include <stdlib.h>

int main(void)
{
	for (int i = 0; i < 10; i++) {
		void *volatile block = malloc(0);

		free(block);
	}
	return 0;
}
