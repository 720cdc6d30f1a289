/* SPDX-License-Identifier: MIT */
/*
 * Exceptions thrown through several frames, some of which catch, clean up and throw on; blocks are
 * made before, during the clean-up and after.
 *
 * Known answer: of our own 8 * (32 + 48 + 64 + 96) bytes and a string of 40 an exception; the exception
 * objects are libstdc++'s.
 */
#include <cstdlib>
#include <stdexcept>
#include <string>

static void *volatile keep;

static void make(std::size_t n)
{
	keep = std::malloc(n);
}

struct guard {
	~guard()
	{
		make(48);
	}
};

static void throwing(int level)
{
	guard cleaner;

	if (level > 0)
		throwing(level - 1);
	make(32);
	throw std::runtime_error(std::string(40, 'x'));
}

static void passing(int level)
{
	try {
		throwing(level);
	} catch (const std::exception &) {
		make(64);
		throw;
	}
}

int main()
{
	int caught = 0;

	for (int i = 0; i < 8; i++) {
		try {
			passing(i % 4);
		} catch (const std::runtime_error &) {
			make(96);
			caught++;
		}
		try {
			throw i;
		} catch (int) {
			caught++;
		}
	}
	return caught != 16;
}
