/* SPDX-License-Identifier: MIT */
/*
 * new_basic [fail]: operator new and delete in their plain, array, nothrow and sized forms; with an
 * argument, also nothrow requests that no allocator can fulfil (libstdc++ makes an exception object for each).
 *
 * Known answer: 1000 + 4 * 100 bytes from new[], 5 * 40 + 24 from new, 8 + 16 + 0 nothrow; all but the
 * first array are deleted. libstdc++ has its own pool of 72704 bytes.
 */
#include <cstddef>
#include <new>

/* Declared here, because clang leaves it out before C++20. */
void operator delete(void *p, std::size_t n) noexcept;

struct point {
	long x, y, z, u, v;
};

static void *volatile keep;
static volatile std::size_t far_too_much = std::size_t(1) << 62;

static void arrays()
{
	char *block[4];

	keep = new char[1000];
	for (char *&p : block)
		p = new char[100];
	for (char *p : block)
		delete[] p;
}

static void objects()
{
	point *all[5];

	for (point *&p : all)
		p = new point;
	for (point *p : all)
		delete p;
	::operator delete(::operator new(24), std::size_t(24));
	delete static_cast<point *>(nullptr);
}

static void nothrow()
{
	long *one = new (std::nothrow) long;
	long *two = new (std::nothrow) long[2];
	void *none = ::operator new(0, std::nothrow);

	delete one;
	delete[] two;
	::operator delete(none, std::nothrow);
}

static int failing()
{
	void *one = ::operator new(far_too_much, std::nothrow);
	void *two = ::operator new[](far_too_much, std::nothrow);

	return one || two;
}

int main(int argc, char **)
{
	arrays();
	objects();
	nothrow();
	return argc > 1 ? failing() : 0;
}
