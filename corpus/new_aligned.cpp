/* SPDX-License-Identifier: MIT */
/*
 * operator new and delete with an alignment, plain, array and nothrow.
 *
 * Known answer: 3 * 64 + 2 * 256 + 128 bytes, all deleted but the last.
 */
#include <cstddef>
#include <new>

struct alignas(64) line {
	char bytes[64];
};

static void *volatile keep;

int main()
{
	line *one[3];
	line *many[2];

	for (line *&p : one)
		p = new line;
	for (line *&p : many)
		p = new line[4];
	keep = new (std::nothrow) line[2];
	for (line *p : one)
		delete p;
	for (line *p : many)
		delete[] p;
	return 0;
}
