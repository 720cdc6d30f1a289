/* SPDX-License-Identifier: MIT */
/* The samples of the process's memory: kept back until a unit is worth its header. */
#include <assert.h>

#include "mst_limits.h"
#include "mst_writer.h"
#include "writer.h"

#define KIB 1024u
#define FIRST_UNIT 8u /* samples; later units wait for a quarter of what was before them */

/* ---- packing ---- */

static void put_step(struct bytes *column, uint64_t *before, uint64_t value)
{
	bytes_varint(column, wire_zigzag((int64_t)(value - *before)));
	*before = value;
}

/* KiB and one more; 0: not known. */
static uint64_t known_kib(uint64_t bytes)
{
	return bytes == UINT64_MAX ? 0 : bytes / KIB + 1;
}

static void pack(const struct writer_memory *memory, struct bytes *column)
{
	uint64_t time = 0, resident = 0, proportional = 0, swapped = 0, minor_faults = 0, major_faults = 0;

	for (uint32_t i = 0; i < memory->n; i++) {
		const struct mst_memory_sample *s = &memory->samples[i];

		assert(s->time >= time);
		bytes_varint(column, (s->time - time) << 1 | s->detailed);
		time = s->time;
		put_step(column, &resident, s->resident / KIB);
		if (!s->detailed)
			continue;
		put_step(column, &proportional, known_kib(s->proportional));
		put_step(column, &swapped, known_kib(s->swapped));
		put_step(column, &minor_faults, s->minor_faults);
		put_step(column, &major_faults, s->major_faults);
	}
}

int writer_memory_unit(struct mst_writer *w)
{
	struct writer_memory *memory = &w->memory;

	assert(memory->n <= MEMORY_SAMPLES);
	if (memory->n == 0 && memory->peak == memory->peak_written)
		return 0;
	bytes_u64(&w->fields, memory->peak);
	bytes_u32(&w->fields, memory->n);
	bytes_u32(&w->fields, 0); /* reserved */
	assert(w->fields.failed || w->fields.size == FIELDS_MEMORY);
	pack(memory, &w->columns[0]);
	memory->written += memory->n;
	memory->n = 0;
	memory->peak_written = memory->peak;
	return writer_unit(w, UNIT_MEMORY, 0, 1, 0, 0);
}

int writer_memory_if_due(struct mst_writer *w)
{
	return w->memory.n >= FIRST_UNIT + w->memory.written / 4 ? writer_memory_unit(w) : 0;
}

/* ---- the public side ---- */

int mst_writer_memory(struct mst_writer *w, uint64_t time_ns, const struct mst_memory_sample *sample)
{
	struct writer_memory *memory = &w->memory;
	const uint64_t time = time_ns >> WRITER_TIME_SHIFT;

	if (w->error)
		return w->error;
	if (w->names)
		return MST_ERR_ARGUMENT;
	if (memory->written + memory->n >= MST_MAX_MEMORY_SAMPLES)
		return MST_ERR_LIMIT;
	if (time > memory->time)
		memory->time = time;
	memory->samples[memory->n] = *sample;
	memory->samples[memory->n++].time = memory->time;
	if (memory->n == MEMORY_SAMPLES) {
		w->due = 0; /* an error here must stop the next call */
		w->error = writer_memory_unit(w);
	}
	return w->error;
}

int mst_writer_peak_resident(struct mst_writer *w, uint64_t bytes)
{
	if (w->names)
		return MST_ERR_ARGUMENT;
	if (bytes > w->memory.peak)
		w->memory.peak = bytes;
	return 0;
}
