/* SPDX-License-Identifier: MIT */
#include "counter.h"

#include <errno.h>
#include <fcntl.h>

#include "os.h"

#define FD_LOW 900 /* programs count theirs from 0, and are often allowed 1024 */

static int open_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.pinned = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)os_call6(SYS_perf_event_open, (long)&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
}

static const struct perf_event_mmap_page *map_page(int fd)
{
	const long p = os_call6(SYS_mmap, 0, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	return p < 0 ? NULL : (const struct perf_event_mmap_page *)p;
}

static void unmap_page(const struct perf_event_mmap_page *page)
{
	os_call6(SYS_munmap, (long)page, PAGE, 0, 0, 0, 0);
}

static void close_fd(int fd)
{
	os_call6(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* Moves the descriptor above the program's; negative: there is no room. */
static int move_up(int fd)
{
	const long high = os_call6(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FD_LOW, 0, 0, 0);

	close_fd(fd);
	return (int)high;
}

/* False if the program has closed the descriptor; another file may have its number. */
static bool is_ours(const struct counter *c)
{
	uint64_t id = 0;

	return os_call6(SYS_ioctl, c->fd, PERF_EVENT_IOC_ID, (long)&id, 0, 0, 0) == 0 && id == c->id;
}

int counter_open(struct counter *c)
{
	int fd = open_event();

	*c = (struct counter){ 0 };
	if (fd < 0)
		return fd;
	c->page = map_page(fd);
	/* The mapping keeps the event. */
	if (c->page && CPU_READS_COUNTERS && c->page->cap_user_rdpmc) {
		close_fd(fd);
		return 0;
	}
	if (c->page)
		unmap_page(c->page);
	*c = (struct counter){ 0 };
	fd = move_up(fd);
	if (fd < 0)
		return fd;
	if (os_call6(SYS_ioctl, fd, PERF_EVENT_IOC_ID, (long)&c->id, 0, 0, 0) < 0) {
		close_fd(fd);
		return -ENOTTY;
	}
	c->fd = fd;
	return 0;
}

void counter_forget(struct counter *c)
{
	if (c->fd && is_ours(c))
		close_fd(c->fd);
	*c = (struct counter){ 0 };
}

void counter_close(struct counter *c)
{
	if (c->page)
		unmap_page(c->page);
	counter_forget(c);
}

static bool read_fd(struct counter *c, uint64_t *count)
{
	if (c->fd && !is_ours(c))
		c->fd = 0;
	return c->fd && os_call6(SYS_read, c->fd, (long)count, sizeof(*count), 0, 0, 0) == sizeof(*count);
}

uint64_t counter_read(struct counter *c)
{
	uint64_t count;

	if ((c->page ? counter_read_page(c->page, cpu_read_counter, &count) : read_fd(c, &count)) &&
	    count > c->last)
		c->last = count;
	return c->last;
}
