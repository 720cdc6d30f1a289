/* SPDX-License-Identifier: MIT */
/*
 * A program with operator new and delete of its own, global and for one class.
 *
 * Known answer: 4 * 48 + 3 * 80 + 5 * 16 bytes; Massif replaces the global operators, whose bodies ask for
 * just what they were asked for, so the events are the same either way.
 */
#include <cstddef>
#include <cstdlib>
#include <new>

static void *volatile keep;

void *operator new(std::size_t n)
{
	void *p = std::malloc(n);

	if (!p)
		throw std::bad_alloc();
	return p;
}

void *operator new[](std::size_t n)
{
	void *p = std::malloc(n);

	if (!p)
		throw std::bad_alloc();
	return p;
}

void operator delete(void *p) noexcept
{
	std::free(p);
}

void operator delete[](void *p) noexcept
{
	std::free(p);
}

void operator delete(void *p, std::size_t) noexcept
{
	std::free(p);
}

void operator delete[](void *p, std::size_t) noexcept
{
	std::free(p);
}

struct plain {
	long words[6];
};

struct own {
	long words[10];

	static void *operator new(std::size_t n)
	{
		return std::malloc(n);
	}
	static void operator delete(void *p)
	{
		std::free(p);
	}
};

int main()
{
	for (int i = 0; i < 4; i++)
		keep = new plain;
	for (int i = 0; i < 3; i++) {
		own *p = new own;

		keep = p;
		if (i < 2)
			delete p;
	}
	for (int i = 0; i < 5; i++) {
		char *p = new char[16];

		keep = p;
		delete[] p;
	}
	return 0;
}
