/* SPDX-License-Identifier: MIT */
/* A function that fills vectors: all of its allocations are std::vector's, and the site is fill(). */
#include <vector>

static std::vector<int> fill(int n)
{
	std::vector<int> numbers;
	for (int i = 0; i < n; i++)
		numbers.push_back(i);
	return numbers;
}

int main()
{
	std::vector<std::vector<int>> all;
	for (int i = 0; i < 100; i++)
		all.push_back(fill(i));
	return all.size() != 100;
}
