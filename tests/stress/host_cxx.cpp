/* SPDX-License-Identifier: MIT */
/*
 * The C++ part of the difficult hosts: as a program, one case a run; with -DPLUGIN, a library with
 * plugin_take(). With -DREPLACE it has operators of its own. "new N" in the output is the number of
 * operator new calls, failed ones included.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#ifdef REPLACE
static char pool[1 << 20];
static std::size_t pool_used;

/* Operators on a pool, without malloc. */
void *operator new(std::size_t size)
{
	if (size > sizeof pool / 2)
		throw std::bad_alloc();
	size = (size + 15) & ~std::size_t(15);
	if (pool_used + size > sizeof pool)
		pool_used = 0;
	pool_used += size;
	return pool + pool_used - size;
}

void operator delete(void *) noexcept
{
}
void operator delete(void *, std::size_t) noexcept
{
}
#endif

static volatile std::size_t huge = std::size_t(1) << 62;
static unsigned long news;

template <class T> static T *counted(T *p)
{
	news++;
	return p;
}

#ifdef PLUGIN
struct global {
	char *p = counted(new char[100]);
	~global()
	{
		delete[] p;
	}
};
static global plugin_global;

extern "C" void *plugin_take(std::size_t size)
{
	int *p = new int(3);

	delete p;
	try {
		throw std::runtime_error("through the plug-in");
	} catch (const std::exception &) {
	}
	try {
		counted(::operator new(huge));
	} catch (const std::bad_alloc &) {
	}
	return std::malloc(size);
}
#else
static void failing(int times)
{
	for (int i = 0; i < times; i++) {
		try {
			news++;
			delete static_cast<char *>(::operator new(huge));
		} catch (const std::bad_alloc &) {
		}
		news++;
		if (::operator new(huge, std::nothrow))
			std::abort();
		try {
			news++;
			delete[] new (std::align_val_t(64)) char[huge];
		} catch (const std::bad_alloc &) {
		}
		delete counted(new int(i));
	}
}

static int handled;

static void handler()
{
	/* A new handler that allocates inside operator new, and gives up in the end. */
	delete[] counted(new char[10]);
	if (++handled % 3 == 0)
		throw std::bad_alloc();
}

static void with_handler(int times)
{
	std::set_new_handler(handler);
	failing(times);
	std::set_new_handler(nullptr);
}

struct thread_owner {
	std::string *text = new std::string(100, 'x');
	~thread_owner()
	{
		delete text;
	}
};
static thread_local thread_owner owner;

static void thread_locals()
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 50; i++)
		threads.emplace_back([] { owner.text->append(1000, 'y'); });
	for (auto &t : threads)
		t.join();
}

static void thrown(int depth)
{
	std::string local(50, 'z');

	if (depth == 0)
		throw std::runtime_error(local);
	thrown(depth - 1);
}

static void exceptions()
{
	for (int i = 0; i < 500; i++) {
		try {
			thrown(i % 30);
		} catch (const std::runtime_error &e) {
			if (std::strlen(e.what()) != 50)
				std::abort();
		}
	}
}

/* For a program that is linked with bump.c. */
extern "C" int bump_owns(const void *p) __attribute__((weak));

static bool is_own(const void *p)
{
#ifdef REPLACE
	return static_cast<const char *>(p) >= pool && static_cast<const char *>(p) < pool + sizeof pool;
#else
	return bump_owns(p);
#endif
}

/* Every form of operator new ends in the program's own operator or in malloc, and so does every delete. */
static void own_memory(int times)
{
	for (int i = 1; i <= times; i++) {
		void *const blocks[] = { ::operator new(i), ::operator new[](i),
					 ::operator new(i, std::nothrow), ::operator new[](i, std::nothrow) };

		news += 4;
		for (void *const p : blocks) {
			if (!is_own(p))
				std::abort();
		}
		::operator delete(blocks[0], i);
		::operator delete[](blocks[1], i);
		::operator delete(blocks[2], std::nothrow);
		::operator delete[](blocks[3], std::nothrow);
	}
}

int main(int argc, char **argv)
{
	const std::string name = argc > 1 ? argv[1] : "";

	if (name == "bad-alloc")
		failing(1000);
	else if (name == "new-handler")
		with_handler(300);
	else if (name == "thread-local")
		thread_locals();
	else if (name == "exceptions")
		exceptions();
	else if (name == "own-memory")
		own_memory(1000);
	else
		return 96;
	std::printf("new %lu\n", news);
	return 0;
}
#endif
