// SPDX-License-Identifier: MIT
// Allocations of C++ whose types alloc_types.py knows. All stays live to the end.
#include <deque>
#include <fstream>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace shop
{
struct item { // 24 bytes, 16 in another order
	char kind;
	double price;
	int count;
};

class base
{
      public:
	virtual ~base() = default;
	int a = 1;
};

class derived : public base
{
      public:
	double b[4] = {};
};

struct with_destructor {
	~with_destructor()
	{
		n = 0;
	}
	long n = 1, m = 2, k = 3;
};

template <class T> struct holder {
	T *make()
	{
		return new T();
	}
};
} // namespace shop

static void *volatile kept;

#define NOINLINE __attribute__((noinline))

NOINLINE void plain_new()
{
	for (int i = 0; i < 100; i++)
		kept = new shop::item();
}

NOINLINE void base_pointer()
{
	for (int i = 0; i < 10; i++) {
		shop::base *p = new shop::derived;
		kept = p;
	}
}

NOINLINE void array_with_count()
{
	kept = new shop::with_destructor[7];
}

NOINLINE void array_of_pointers()
{
	shop::item **table = new shop::item *[11];
	kept = table;
}

NOINLINE void through_template()
{
	kept = shop::holder<std::pair<long, long>>().make();
}

NOINLINE void vector_of_items()
{
	auto v = new std::vector<shop::item>(50);
	kept = v;
}

NOINLINE void vector_of_bits()
{
	static std::vector<bool> v(200);
	v[7] = true;
}

NOINLINE void vector_of_strings()
{
	static std::vector<std::string> v;
	v.reserve(20);
	for (int i = 0; i < 20; i++)
		v.push_back("a string that is too long for the object itself");
	kept = v.data();
}

NOINLINE void list_of_items()
{
	static std::list<shop::item> l;
	for (int i = 0; i < 5; i++)
		l.push_back(shop::item());
}

NOINLINE void map_of_items()
{
	static std::map<int, shop::item> m;
	for (int i = 0; i < 5; i++)
		m[i].count = i;
}

NOINLINE void set_of_longs()
{
	static std::set<long> s;
	for (long i = 0; i < 5; i++)
		s.insert(i);
}

NOINLINE void hash_of_items()
{
	static std::unordered_map<int, shop::item> m;
	for (int i = 0; i < 5; i++)
		m[i].count = i;
}

NOINLINE void shared_item()
{
	static auto p = std::make_shared<shop::item>();
	kept = p.get();
}

NOINLINE void unique_item()
{
	static auto p = std::make_unique<shop::derived>();
	kept = p.get();
}

NOINLINE void deque_of_items()
{
	static std::deque<shop::item> d;
	d.resize(30);
}

/* The buffers are the library's, whatever the line declares. */
/* clang-format off */
NOINLINE void opened(const char **names) { static std::ifstream file(names[0]); }
/* clang-format on */

int main()
{
	plain_new();
	base_pointer();
	array_with_count();
	array_of_pointers();
	through_template();
	vector_of_items();
	vector_of_bits();
	vector_of_strings();
	list_of_items();
	map_of_items();
	set_of_longs();
	hash_of_items();
	shared_item();
	unique_item();
	deque_of_items();
	const char *names[] = { "/dev/zero" };
	opened(names);
	return 0;
}
