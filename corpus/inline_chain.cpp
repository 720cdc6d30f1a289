/* SPDX-License-Identifier: MIT */
/*
 * Optimised C++: small classes that vanish into their callers, containers of the standard library
 * instantiated here, and an inlined function that an option names.
 *
 * Known answer: everything but `forgotten` is freed again by the owners.
 */
#include <map>
#include <memory>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace shop
{

class item
{
      public:
	explicit item(int n) : name(static_cast<std::size_t>(20 + n), 'i'), data(static_cast<std::size_t>(n))
	{
	}
	std::size_t weight() const
	{
		return name.size() + data.size();
	}

      private:
	std::string name;
	std::vector<long> data;
};

class shelf
{
      public:
	void put(int n)
	{
		items.push_back(std::make_unique<item>(n));
	}
	std::size_t weight() const
	{
		std::size_t sum = 0;

		for (const auto &i : items)
			sum += i->weight();
		return sum;
	}

      private:
	std::vector<std::unique_ptr<item>> items;
};

} // namespace shop

static void *volatile forgotten;

static inline void forget(std::size_t n)
{
	forgotten = ::operator new(n);
}

NOINLINE static std::size_t fill(shop::shelf &shelf, int n)
{
	for (int i = 1; i <= n; i++)
		shelf.put(i);
	forget(static_cast<std::size_t>(n));
	return shelf.weight();
}

NOINLINE static std::size_t index(std::map<int, std::string> &map, int n)
{
	for (int i = 0; i < n; i++)
		map[i * 7 % 31] += std::string(static_cast<std::size_t>(i), 'm');
	forget(static_cast<std::size_t>(2 * n));
	return map.size();
}

int main()
{
	shop::shelf shelf;
	std::map<int, std::string> map;

	return fill(shelf, 20) + index(map, 40) == 0;
}
