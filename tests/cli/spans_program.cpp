// SPDX-License-Identifier: MIT
// Requests with known figures, for spans.py:
//
//   spans_program serve gap|tight WORKERS REQUESTS
//                     workers handle requests, each a marked span "request". Each request has TEMPORARY bytes that are freed
//                     within, SESSION bytes that the worker's next request frees, RESPONSE bytes that the main thread frees
//                     later, and each tenth one leaks LEAK bytes. "gap": a worker allocates between two requests
//   spans_program nested        spans in spans
//   spans_program unbalanced    ends without a beginning, beginnings without an end, a thread that ends within a span
//   spans_program recurse       a function that calls itself, called from two places
//   spans_program many N        N spans with one block of 1 to 1000 bytes each

#include "msrec.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace
{

constexpr int TEMPORARY = 1000, SESSION = 200, RESPONSE = 300, LEAK = 40;

struct session {
	char bytes[SESSION];
};

struct response {
	char bytes[RESPONSE];
};

struct worker {
	std::unique_ptr<session> last;
	std::vector<std::unique_ptr<response>> responses;
};

void *volatile sink;

__attribute__((noinline)) void *take(size_t size)
{
	void *const block = malloc(size);
	sink = block;
	return block;
}

__attribute__((noinline)) void handle_request(worker &w, int number)
{
	std::unique_ptr<char[]> temporary(new char[TEMPORARY]);
	__asm__ volatile("" : : "r"(temporary.get()) : "memory"); // compilers leave out what has no effect
	temporary[0] = static_cast<char>(number);
	w.last.reset(new session());
	w.responses.emplace_back(new response());
	if (number % 10 == 0)
		take(LEAK);
}

// The vector has room, so that it allocates outside of all requests.
void serve(worker &w, int first, int step, int n, bool gap)
{
	w.responses.reserve(static_cast<size_t>(n));
	for (int i = first; i < n; i += step) {
		msrec_span_begin("request");
		handle_request(w, i);
		msrec_span_end();
		if (gap) {
			free(take(8));
		}
	}
	w.last.reset();
}

void run_server(bool gap, int workers, int n)
{
	std::vector<worker> all(static_cast<size_t>(workers));
	std::vector<std::thread> threads;
	for (int i = 0; i < workers; i++)
		threads.emplace_back([&all, i, workers, n, gap] {
			serve(all[static_cast<size_t>(i)], i, workers, n, gap);
		});
	for (auto &thread : threads)
		thread.join();
}

void run_nested()
{
	msrec_span_begin("a");
	take(10);
	msrec_span_begin("b");
	take(20);
	msrec_span_end();
	take(30);
	msrec_span_end();
	take(1000);
	const std::string name("b");
	msrec_span_begin(name.c_str());
	take(40);
	msrec_span_end();
	msrec_mark("span");
	msrec_span_begin(nullptr);
	msrec_span_end();
}

void run_unbalanced()
{
	std::thread([] {
		msrec_span_end();
		take(1);
		msrec_span_begin("ends with its thread");
		take(2);
	}).join();
	std::thread([] {
		msrec_span_begin("begun in another thread");
		take(4);
	}).join();
	std::thread([] {
		take(8);
		msrec_span_end();
		take(16);
	}).join();
	msrec_span_begin("never ends");
	take(32);
}

__attribute__((noinline)) void walk(int depth)
{
	take(static_cast<size_t>(depth) + 1);
	if (depth > 0)
		walk(depth - 1);
	take(100);
}

void run_recursion()
{
	walk(3);
	walk(1);
}

void run_many(int n)
{
	for (int i = 0; i < n; i++) {
		msrec_span_begin("one");
		take(static_cast<size_t>(i) % 1000 + 1);
		free(sink);
		msrec_span_end();
	}
}

} // namespace

int main(int argc, char **argv)
{
	const std::string what(argc > 1 ? argv[1] : "");
	if (what == "serve" && argc > 4)
		run_server(strcmp(argv[2], "gap") == 0, atoi(argv[3]), atoi(argv[4]));
	else if (what == "nested")
		run_nested();
	else if (what == "unbalanced")
		run_unbalanced();
	else if (what == "recurse")
		run_recursion();
	else if (what == "many" && argc > 2)
		run_many(atoi(argv[2]));
	return 0;
}
