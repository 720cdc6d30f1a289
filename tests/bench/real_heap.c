/* SPDX-License-Identifier: MIT */
/*
 * A library that whatif.py preloads before an allocator, into a real program. In a file that both map ($REAL_HEAP) it keeps
 * what tells the heap of the allocator from the program's other private memory:
 *
 *   maps     anonymous memory that the program maps by itself, as a garbage collector does
 *   blocks   large live blocks, of which pages may never have been touched
 *
 * When exit handlers run it adds the status and the mappings of the process, and counts both. It does so, too, at the
 * first call that gives a block back after $REAL_HEAP_PEAK bytes were live: nothing is polled then, so a peak may be as
 * short as it likes. Only the first process that loads it takes part.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, LARGE = 2 * PAGE, MAPS = 8192, BUCKETS = 1 << 14, WAYS = 8, TEXT = 1 << 20, BATCH = 512 };

struct range {
	uint64_t begin, end; /* `begin` 0: unused */
};

/* What there is at one moment. */
struct moment {
	uint64_t own, unused; /* bytes */
	uint64_t ns;          /* since the beginning */
	uint64_t n_text;
	char text[TEXT]; /* status and smaps */
};

/* whatif.py reads this by its offsets. */
struct notes {
	uint64_t pid, n_maps, lost_maps, lost_blocks;
	int64_t most_live; /* bytes, as malloc_usable_size() has them */
	uint64_t begin_ns;
	uint64_t locked;
	struct range maps[MAPS];
	struct range blocks[BUCKETS][WAYS];
	struct moment peak, end;
};

static struct notes *notes;
static const void *allocator;                 /* where its library begins */
static int64_t live, wanted_live = INT64_MAX; /* bytes; blocks that go may be of before the first call */

/* ---- Notes ---- */

static void find_allocator(void)
{
	Dl_info info;
	const void *next = dlsym(RTLD_NEXT, "malloc");
	if (next && dladdr(next, &info))
		allocator = info.dli_fbase;
}

static void leave(void)
{
	notes = NULL;
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A process that executes another program begins anew. */
static int is_first(struct notes *shared)
{
	const uint64_t own = (uint64_t)getpid();
	uint64_t before = 0;
	if (!__atomic_compare_exchange_n(&shared->pid, &before, own, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) &&
	    before != own)
		return 0;
	memset(shared, 0, offsetof(struct notes, peak));
	shared->peak.n_text = shared->end.n_text = 0;
	shared->pid = own;
	shared->begin_ns = now_ns();
	return 1;
}

/* The first call is made before there are threads. A forked child takes no part. */
static int takes_part(void)
{
	static int looked;
	if (looked)
		return notes != NULL;
	looked = 1;
	const char *name = getenv("REAL_HEAP");
	const int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return 0;
	void *at = (void *)syscall(SYS_mmap, NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED || !is_first(at))
		return 0;
	find_allocator();
	const char *peak = getenv("REAL_HEAP_PEAK");
	wanted_live = peak ? strtoll(peak, NULL, 10) : INT64_MAX;
	notes = at;
	pthread_atfork(NULL, NULL, leave);
	return 1;
}

static void lock(void)
{
	while (__atomic_exchange_n(&notes->locked, 1, __ATOMIC_ACQUIRE))
		;
}

static void unlock(void)
{
	__atomic_store_n(&notes->locked, 0, __ATOMIC_RELEASE);
}

/* ---- Mappings ---- */

static void add_map(uint64_t begin, uint64_t end)
{
	if (begin >= end)
		return;
	if (notes->n_maps < MAPS)
		notes->maps[notes->n_maps++] = (struct range){ begin, end };
	else
		notes->lost_maps++;
}

/* Leaves what lies on both sides. */
static void cut_maps(uint64_t begin, uint64_t end)
{
	for (uint64_t i = 0; i < notes->n_maps;) {
		const struct range map = notes->maps[i];
		if (map.end <= begin || map.begin >= end) {
			i++;
			continue;
		}
		notes->maps[i] = notes->maps[--notes->n_maps];
		add_map(map.begin, map.begin < begin ? begin : map.begin);
		add_map(map.end > end ? end : map.end, map.end);
	}
}

/* Whether the program, or one of its libraries, made a call, and not the allocator. */
static int is_own(const void *caller)
{
	Dl_info info;
	return takes_part() && !(dladdr(caller, &info) && info.dli_fbase == allocator);
}

static uint64_t whole_pages(uint64_t size)
{
	return (size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

void *mmap(void *where, size_t size, int access, int flags, int fd, off_t offset)
{
	void *at = (void *)syscall(SYS_mmap, where, size, access, flags, fd, offset);
	if (at == MAP_FAILED || !is_own(__builtin_return_address(0)))
		return at;
	lock();
	cut_maps((uint64_t)at, (uint64_t)at + whole_pages(size));
	if (flags & MAP_ANONYMOUS)
		add_map((uint64_t)at, (uint64_t)at + whole_pages(size));
	unlock();
	return at;
}

void *mmap64(void *, size_t, int, int, int, off64_t) __attribute__((alias("mmap")));

int munmap(void *at, size_t size)
{
	if (takes_part()) {
		lock();
		cut_maps((uint64_t)at, (uint64_t)at + whole_pages(size));
		unlock();
	}
	return (int)syscall(SYS_munmap, at, size);
}

/* ---- Blocks ---- */

static struct range *bucket_of(uint64_t block)
{
	return notes->blocks[(block >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 50];
}

typedef size_t usable(void *block);

/* That of gperftools allocates when it is first called. */
static __thread int inside __attribute__((tls_model("initial-exec")));

static uint64_t usable_size(const void *block)
{
	static usable *next;
	inside = 1;
	if (!next)
		next = (usable *)dlsym(RTLD_NEXT, "malloc_usable_size");
	const uint64_t size = next ? next((void *)block) : 0;
	inside = 0;
	return size;
}

static void *note_block(void *block, uint64_t size)
{
	if (!block || inside || !takes_part())
		return block;
	const int64_t now = __atomic_add_fetch(&live, (int64_t)usable_size(block), __ATOMIC_RELAXED);
	if (now > notes->most_live)
		notes->most_live = now;
	if (size < LARGE)
		return block;
	struct range *ways = bucket_of((uint64_t)block);
	int i = 0;
	lock();
	while (i < WAYS && ways[i].begin)
		i++;
	if (i < WAYS)
		ways[i] = (struct range){ (uint64_t)block, (uint64_t)block + size };
	else
		notes->lost_blocks++;
	unlock();
	return block;
}

static void look_at_peak(void);

/* Returns the size of the block, if it was noted. A block is in one bucket at most, and its owner alone frees it. */
static uint64_t forget_block(const void *block)
{
	if (!block || inside || !takes_part())
		return 0;
	if (__atomic_load_n(&live, __ATOMIC_RELAXED) >= wanted_live)
		look_at_peak();
	__atomic_sub_fetch(&live, (int64_t)usable_size(block), __ATOMIC_RELAXED);
	struct range *ways = bucket_of((uint64_t)block);
	for (int i = 0; i < WAYS; i++) {
		if (__atomic_load_n(&ways[i].begin, __ATOMIC_RELAXED) != (uint64_t)block)
			continue;
		const uint64_t size = ways[i].end - ways[i].begin;
		__atomic_store_n(&ways[i].begin, 0, __ATOMIC_RELAXED);
		return size;
	}
	return 0;
}

typedef void *sized(size_t size);
typedef void *two_sized(size_t first, size_t second);
typedef void *resized(void *block, size_t size);
typedef int aligned(void **block, size_t align, size_t size);
typedef void freed(void *block);

/* Declares `next`: the function of this name in the libraries behind this one. */
#define NEXT(type, name)                                                                                     \
	static type *next;                                                                                   \
	if (!next)                                                                                           \
	next = (type *)dlsym(RTLD_NEXT, name)

void *malloc(size_t size)
{
	NEXT(sized, "malloc");
	return note_block(next(size), size);
}

void *calloc(size_t n, size_t size)
{
	NEXT(two_sized, "calloc");
	return note_block(next(n, size), n * size);
}

void *realloc(void *block, size_t size)
{
	NEXT(resized, "realloc");
	const uint64_t before = forget_block(block);
	void *moved = next(block, size);
	if (!moved && size)
		note_block(block, before);
	return note_block(moved, size);
}

void *memalign(size_t align, size_t size)
{
	NEXT(two_sized, "memalign");
	return note_block(next(align, size), size);
}

void *aligned_alloc(size_t align, size_t size)
{
	NEXT(two_sized, "aligned_alloc");
	return note_block(next(align, size), size);
}

int posix_memalign(void **block, size_t align, size_t size)
{
	NEXT(aligned, "posix_memalign");
	const int error = next(block, align, size);
	if (!error)
		note_block(*block, size);
	return error;
}

void free(void *block)
{
	NEXT(freed, "free");
	forget_block(block);
	next(block);
}

/* ---- Operators of C++ ---- */

/* Those of libstdc++ call malloc() and free(), which take note; those of an allocator don't. */
static int is_of_allocator(const void *function)
{
	Dl_info info;
	return allocator && dladdr(function, &info) && info.dli_fbase == allocator;
}

#define OPERATOR(name, parameters, arguments, size)                                                          \
	void *name parameters;                                                                               \
	void *name parameters                                                                                \
	{                                                                                                    \
		static void *(*next)parameters;                                                              \
		static int notes_it;                                                                         \
		if (!next) {                                                                                 \
			next = (void *(*)parameters)dlsym(RTLD_NEXT, #name);                                 \
			notes_it = is_of_allocator((void *)next);                                            \
		}                                                                                            \
		void *block = next arguments;                                                                \
		return notes_it ? note_block(block, size) : block;                                           \
	}

#define DELETE(name, parameters, arguments)                                                                  \
	void name parameters;                                                                                \
	void name parameters                                                                                 \
	{                                                                                                    \
		static void(*next) parameters;                                                               \
		static int notes_it;                                                                         \
		if (!next) {                                                                                 \
			next = (void(*) parameters)dlsym(RTLD_NEXT, #name);                                  \
			notes_it = is_of_allocator((void *)next);                                            \
		}                                                                                            \
		if (notes_it)                                                                                \
			forget_block(block);                                                                 \
		next arguments;                                                                              \
	}

OPERATOR(_Znwm, (size_t size), (size), size)
OPERATOR(_Znam, (size_t size), (size), size)
OPERATOR(_ZnwmRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow), size)
OPERATOR(_ZnamRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow), size)
OPERATOR(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align), size)
OPERATOR(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align), size)
DELETE(_ZdlPv, (void *block), (block))
DELETE(_ZdaPv, (void *block), (block))
DELETE(_ZdlPvm, (void *block, size_t size), (block, size))
DELETE(_ZdaPvm, (void *block, size_t size), (block, size))
DELETE(_ZdlPvSt11align_val_t, (void *block, size_t align), (block, align))
DELETE(_ZdaPvSt11align_val_t, (void *block, size_t align), (block, align))
DELETE(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t align), (block, size, align))
DELETE(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t align), (block, size, align))

/* ---- The peak and the end ---- */

/* Bytes of the private pages of a range that are in memory (`wanted`), or that are not. */
static uint64_t count_pages(int pagemap, uint64_t begin, uint64_t end, int wanted)
{
	uint64_t entries[BATCH], n = 0;
	for (uint64_t page = begin; page < end;) {
		const uint64_t most = end - page < BATCH ? end - page : BATCH;
		const ssize_t got = pread(pagemap, entries, most * 8, (off_t)page * 8);
		if (got <= 0)
			break;
		for (ssize_t i = 0; i < got / 8; i++) {
			const int present = entries[i] >> 62 != 0, shared = entries[i] >> 61 & 1;
			n += wanted ? present && !shared : !present;
		}
		page += (uint64_t)got / 8;
	}
	return n * PAGE;
}

static void add_text(struct moment *moment, const char *name)
{
	const int fd = open(name, O_RDONLY | O_CLOEXEC);
	for (ssize_t n; fd >= 0 && (n = read(fd, moment->text + moment->n_text, TEXT - moment->n_text)) > 0;)
		moment->n_text += (uint64_t)n;
	close(fd);
}

static void look(struct moment *moment)
{
	const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	moment->own = moment->unused = moment->n_text = 0;
	moment->ns = now_ns() - notes->begin_ns;
	for (uint64_t i = 0; i < notes->n_maps; i++)
		moment->own +=
			count_pages(pagemap, notes->maps[i].begin / PAGE, notes->maps[i].end / PAGE, 1);
	for (int i = 0; i < BUCKETS * WAYS; i++) {
		const struct range *block = &notes->blocks[i / WAYS][i % WAYS];
		if (block->begin)
			moment->unused +=
				count_pages(pagemap, (block->begin + PAGE - 1) / PAGE, block->end / PAGE, 0);
	}
	close(pagemap);
	add_text(moment, "/proc/self/status");
	add_text(moment, "/proc/self/smaps");
}

/* Once: other threads go on meanwhile. */
static void look_at_peak(void)
{
	static int looked;
	if (!__atomic_exchange_n(&looked, 1, __ATOMIC_RELAXED))
		look(&notes->peak);
}

__attribute__((constructor)) static void begin(void)
{
	takes_part(); /* programs that set their title overwrite the environment */
}

__attribute__((destructor)) static void end(void)
{
	if (takes_part())
		look(&notes->end);
}
