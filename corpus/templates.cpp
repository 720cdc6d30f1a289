/* SPDX-License-Identifier: MIT */
/*
 * Names that demangling makes long: templates in templates, lambdas, operators, an anonymous
 * namespace, a member function pointer.
 *
 * Known answer: 10 * (100 + 200 + 300 + 400 + 500) bytes.
 */
#include <cstddef>
#include <cstdlib>

static void *volatile keep;

namespace
{

template <typename T, int N> struct box {
	T inner;

	template <typename F> void fill(F make)
	{
		inner.fill(make);
	}
};

template <int N> struct box<char, N> {
	template <typename F> void fill(F make)
	{
		make(100);
	}
	void operator()(std::size_t n) const
	{
		keep = std::malloc(n);
	}
	operator bool() const
	{
		keep = std::malloc(400);
		return true;
	}
	void member(const char *, unsigned long n)
	{
		keep = std::malloc(n);
	}
};

template <typename... T> void variadic(T... n)
{
	keep = std::malloc((... + n));
}

} // namespace

int main()
{
	for (int i = 0; i < 10; i++) {
		box<box<box<char, 1>, 2>, 3> nested;
		box<char, 7> call;
		void (box<char, 7>::*pointer)(const char *, unsigned long) = &box<char, 7>::member;

		nested.fill([](std::size_t n) { keep = std::malloc(n); });
		call(200);
		variadic(100, 150L, short(50));
		if (!call)
			return 1;
		(call.*pointer)("", 500);
	}
	return 0;
}
