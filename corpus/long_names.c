/* SPDX-License-Identifier: MIT */
/*
 * A function with a name of 2500 characters that calls itself.
 *
 * Known answer: ten blocks of 400 bytes, each one call deeper; no name is cut.
 */
#include <stdlib.h>

#define JOIN5_(a, b, c, d, e) a##b##c##d##e
#define JOIN5(a, b, c, d, e) JOIN5_(a, b, c, d, e)
#define TIMES5(x) JOIN5(x, x, x, x, x)

#define NAME20 a_name_of_20_letters
#define NAME100 TIMES5(NAME20)
#define NAME500 JOIN5(NAME100, NAME100, NAME100, NAME100, NAME100)
#define NAME2500 JOIN5(NAME500, NAME500, NAME500, NAME500, NAME500)

static void *volatile keep;

static void NAME2500(int level)
{
	keep = malloc(400);
	if (level > 1)
		NAME2500(level - 1);
}

int main(void)
{
	NAME2500(10);
	return 0;
}
