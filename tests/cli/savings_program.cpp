/* SPDX-License-Identifier: MIT */
/* Habits that msreport's savings are about, a function each; and beside them some that only look so. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define APART __attribute__((noinline))

static void use(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

/* ---- Habits ---- */

APART static void resized_ladder()
{
	char *block = nullptr;
	for (size_t size = 16; size <= 65536; size *= 2)
		use(block = static_cast<char *>(realloc(block, size)));
	free(block);
}

APART static void vector_ladder()
{
	std::vector<int> numbers;
	for (int i = 0; i < 5000; i++)
		numbers.push_back(i);
	use(numbers.data());
}

APART static void local_buffer(int i)
{
	void *block = malloc(200);
	use(block);
	if (i % 2) {
		free(block);
		return;
	}
	free(block);
}

APART static void *made_elsewhere()
{
	return malloc(10000);
}

APART static void hoistable()
{
	void *block = made_elsewhere();
	use(block);
	free(block);
}

APART static void varying(int i)
{
	void *block = malloc(static_cast<size_t>(5000 + i * 37 % 900));
	use(block);
	free(block);
}

APART static void *pooled()
{
	return malloc(48);
}

APART static void *scratch_table()
{
	return memset(malloc(8 << 20), 1, 8 << 20);
}

APART static void *tree_node()
{
	return malloc(40);
}

/* ---- What only looks so ---- */

APART static void recursive(int depth)
{
	void *block = malloc(333);
	use(block);
	if (depth)
		recursive(depth - 1);
	free(block);
}

APART static void *handed_over()
{
	return malloc(77);
}

APART static void *cached(int i)
{
	return malloc(static_cast<size_t>(100 + i % 50));
}

/* As a hash table does: the old one goes when the new one is there. */
APART static void *rehashed(void *old, size_t size)
{
	void *block = memset(malloc(size), 1, size);
	if (old)
		memcpy(block, old, size / 4);
	free(old);
	return block;
}

static void work_with_pool()
{
	void *blocks[5];
	for (int round = 0; round < 4000; round++) {
		for (void *&block : blocks)
			use(block = pooled());
		for (void *block : blocks)
			free(block);
	}
}

static void hand_over()
{
	for (int i = 0; i < 2000; i++) {
		void *block = handed_over();
		std::thread([block] { free(block); }).join();
		i += 99;
	}
}

static void fill_cache(std::vector<void *> *cache)
{
	for (int i = 0; i < 20000; i++) {
		void *&block = (*cache)[static_cast<size_t>(i) % cache->size()];
		free(block);
		block = cached(i);
	}
}

int main(int argc, char **argv)
{
	const bool looks = argc > 1 && strcmp(argv[1], "looks") == 0;
	std::vector<void *> cache(500), nodes(100000);
	if (looks) {
		void *table = nullptr;
		for (size_t size = 1 << 12; size <= 4 << 20; size *= 4)
			table = rehashed(table, size);
		for (int i = 0; i < 2000; i++)
			recursive(3);
		hand_over();
		fill_cache(&cache);
		free(table);
	} else {
		void *table = scratch_table();
		for (void *&node : nodes)
			use(node = tree_node());
		free(table);
		for (int i = 0; i < 300; i++) {
			resized_ladder();
			vector_ladder();
		}
		for (int i = 0; i < 5000; i++) {
			local_buffer(i);
			hoistable();
			varying(i);
		}
		work_with_pool();
	}
	for (void *node : nodes)
		free(node);
	for (void *block : cache)
		free(block);
	return 0;
}
