/* SPDX-License-Identifier: MIT */
#include "datafile.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"

#define HEAD_RECORDS 2u
#define BUFFER_RECORDS 4096u
#define COPY_MOST 32768u /* records of half of memusage's buffer */

/* A record as the file holds it: little-endian, as x86 machines write it, whatever machine reads it. */
struct raw {
	uint64_t heap, stack;
	uint32_t time_low, time_high;
};

_Static_assert(sizeof(struct raw) == DATAFILE_RECORD_B, "records are packed");

/*
 * The buffer holds `used` records, beginning with the file's number `first`. A writer hasn't written them yet; a
 * reader returns number `next` next.
 */
struct datafile {
	int fd;
	bool own_fd;
	int error; /* errno of the first failure */
	struct datafile_head head;
	uint64_t records; /* including the head's two */
	uint64_t first, next;
	size_t used;
	struct raw buffer[BUFFER_RECORDS];
};

static struct raw pack(uint64_t heap, uint64_t stack, uint64_t time)
{
	return (struct raw){ htole64(heap), htole64(stack), htole32((uint32_t)time),
			     htole32((uint32_t)(time >> 32)) };
}

static uint64_t time_of(const struct raw *raw)
{
	return (uint64_t)le32toh(raw->time_high) << 32 | le32toh(raw->time_low);
}

/* ---- Bytes ---- */

static void write_at(struct datafile *data, const struct raw *records, size_t n, uint64_t number)
{
	const char *from = (const char *)records;
	size_t size = n * sizeof(*records);
	off_t offset = (off_t)(number * sizeof(*records));
	while (size && !data->error) {
		ssize_t written = pwrite(data->fd, from, size, offset);
		if (written < 0 && errno != EINTR)
			data->error = errno;
		if (written > 0) {
			from += written;
			size -= (size_t)written;
			offset += written;
		}
	}
}

/* Returns the number of whole records read: the file may have shrunk since datafile_open(). */
static size_t read_at(struct datafile *data, struct raw *records, size_t n, uint64_t number)
{
	char *to = (char *)records;
	size_t size = n * sizeof(*records), done = 0;
	while (done < size) {
		ssize_t got =
			pread(data->fd, to + done, size - done, (off_t)(number * sizeof(*records) + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			data->error = got < 0 ? errno : EIO;
			break;
		}
		done += (size_t)got;
	}
	return done / sizeof(*records);
}

static void flush(struct datafile *data)
{
	write_at(data, data->buffer, data->used, data->first);
	data->first += data->used;
	data->used = 0;
}

/* ---- Writing ---- */

struct datafile *datafile_create(void)
{
	struct datafile *data = malloc(sizeof(*data));
	if (!data)
		return NULL;
	*data = (struct datafile){
		.fd = file_unnamed(), .own_fd = true, .records = HEAD_RECORDS, .first = HEAD_RECORDS
	};
	if (data->fd >= 0)
		return data;
	int error = errno;
	free(data);
	errno = error;
	return NULL;
}

void datafile_destroy(struct datafile *data)
{
	if (data && data->own_fd)
		close(data->fd);
	free(data);
}

void datafile_add(struct datafile *data, const struct datafile_record *record)
{
	data->buffer[data->used++] = pack(record->heap, record->stack, record->time);
	data->records++;
	if (data->used == BUFFER_RECORDS)
		flush(data);
}

int datafile_end(struct datafile *data, const struct datafile_head *head)
{
	const struct raw records[HEAD_RECORDS] = {
		pack(0, head->peak_total, head->start),
		pack(head->peak_heap, head->peak_stack, head->end),
	};
	flush(data);
	write_at(data, records, HEAD_RECORDS, 0);
	data->head = *head;
	datafile_rewind(data);
	return data->error;
}

/* ---- Reading ---- */

static struct datafile *fail(struct datafile *data, const char **problem, const char *text)
{
	int error = errno;
	free(data);
	*problem = text;
	errno = error;
	return NULL;
}

struct datafile *datafile_open(int fd, const char **problem)
{
	struct stat st;
	struct datafile *data = calloc(1, sizeof(*data));
	if (!data || fstat(fd, &st) != 0)
		return fail(data, problem, NULL);
	if (!S_ISREG(st.st_mode))
		return fail(data, problem, "not a regular file");
	uint64_t size = (uint64_t)st.st_size;
	if (size % DATAFILE_RECORD_B != 0 || size < HEAD_RECORDS * DATAFILE_RECORD_B)
		return fail(data, problem, "not a data file of memusage: it has no whole number of records");
	struct raw head[HEAD_RECORDS];
	data->fd = fd;
	data->records = size / DATAFILE_RECORD_B;
	if (read_at(data, head, HEAD_RECORDS, 0) < HEAD_RECORDS) {
		errno = data->error;
		return fail(data, problem, NULL);
	}
	if (head[0].heap != 0)
		return fail(data, problem, "not a data file of memusage: its first record is no head");
	data->head = (struct datafile_head){
		.start = time_of(&head[0]),
		.end = time_of(&head[1]),
		.peak_heap = le64toh(head[1].heap),
		.peak_stack = le64toh(head[1].stack),
		.peak_total = le64toh(head[0].stack),
	};
	datafile_rewind(data);
	return data;
}

/* True if the last `n` of the `known` last records repeat the `n` before them. */
static bool is_copy(const struct raw *last, size_t known, size_t n)
{
	const struct raw *copy = last + known - n;
	return time_of(&copy[0]) < time_of(&copy[-1]) && memcmp(copy, copy - n, n * sizeof(*copy)) == 0;
}

/* True if a buffer half of `n` records is just full; with the copy, the file holds an even number of halves. */
static bool can_be_copy(uint64_t records, size_t n)
{
	return records % (2 * n) == 0;
}

void datafile_drop_copy(struct datafile *data)
{
	uint64_t count = datafile_count(data);
	size_t known = count < 2 * COPY_MOST ? (size_t)count : 2 * COPY_MOST;
	struct raw *last = known ? malloc(known * sizeof(*last)) : NULL;
	if (last && read_at(data, last, known, data->records - known) == known) {
		/* A copy of a single record changes nothing. */
		for (size_t n = 2; n <= known / 2; n++) {
			if (!can_be_copy(count, n) || !is_copy(last, known, n))
				continue;
			data->records -= n;
			break;
		}
	}
	free(last);
}

const struct datafile_head *datafile_head(const struct datafile *data)
{
	return &data->head;
}

uint64_t datafile_count(const struct datafile *data)
{
	return data->records - HEAD_RECORDS;
}

void datafile_rewind(struct datafile *data)
{
	data->first = data->next = HEAD_RECORDS;
	data->used = 0;
}

static void fill(struct datafile *data)
{
	uint64_t left = data->records - data->next;
	data->first = data->next;
	data->used = read_at(data, data->buffer, left < BUFFER_RECORDS ? (size_t)left : BUFFER_RECORDS,
			     data->next);
}

bool datafile_next(struct datafile *data, struct datafile_record *record)
{
	if (data->next == data->first + data->used) {
		if (data->next == data->records || data->error)
			return false;
		fill(data);
		if (data->used == 0)
			return false;
	}
	const struct raw *raw = &data->buffer[data->next++ - data->first];
	*record = (struct datafile_record){ le64toh(raw->heap), le64toh(raw->stack), time_of(raw) };
	return true;
}

int datafile_error(const struct datafile *data)
{
	return data->error;
}

void datafile_write(struct datafile *data, struct out *out)
{
	data->used = 0;
	for (data->next = 0; data->next < data->records && !data->error; data->next += data->used) {
		fill(data);
		out_write(out, data->buffer, data->used * sizeof(*data->buffer));
	}
	if (data->error)
		out_fail(out, data->error);
	datafile_rewind(data);
}
