/* SPDX-License-Identifier: MIT */
#include "top_json.h"

#include <inttypes.h>

#include "json.h"
#include "thread_count.h"

static const char *const state_names[] = {
	[TOP_READING] = "being read", [TOP_RUNNING] = "running", [TOP_ENDED] = "ended", [TOP_CUT] = "cut",
	[TOP_DAMAGED] = "damaged",
};

static void write_key(struct out *out, const char *key)
{
	out_printf(out, ", \"%s\": ", key);
}

static void write_number(struct out *out, const char *key, uint64_t n)
{
	write_key(out, key);
	out_number(out, n);
}

static void write_signed(struct out *out, const char *key, uint64_t n)
{
	write_key(out, key);
	out_printf(out, "%" PRId64, (int64_t)n);
}

/* NULL: it is not known. */
static void write_text(struct out *out, const char *key, const char *text)
{
	write_key(out, key);
	if (text)
		json_string(out, text);
	else
		out_text(out, "null");
}

/* 0 of memory: it is not known. */
static void write_memory(struct out *out, const char *key, uint64_t bytes)
{
	if (bytes)
		write_number(out, key, bytes);
	else
		write_text(out, key, NULL);
}

static void write_live(struct out *out, const struct top_row *r, bool known)
{
	if (!known) {
		write_text(out, "live_bytes", NULL);
		write_text(out, "live_blocks", NULL);
		write_text(out, "growth_bytes", NULL);
		write_text(out, "growth_blocks", NULL);
		return;
	}
	write_number(out, "live_bytes", r->live_bytes);
	write_number(out, "live_blocks", r->live_blocks);
	write_signed(out, "growth_bytes", r->growth_bytes);
	write_signed(out, "growth_blocks", r->growth_blocks);
}

static void write_allocated(struct out *out, const struct top_row *r)
{
	write_number(out, "bytes", r->bytes);
	write_number(out, "calls", r->calls);
	write_number(out, "bytes_per_second", r->bytes_per_second);
	write_number(out, "calls_per_second", r->calls_per_second);
}

static void write_head(struct out *out, const struct top_scene *scene)
{
	const struct top_sample *s = scene->sample;
	const struct mst_file_info *info = mst_reader_info(scene->reader);
	char text[40];
	out_text(out, "{\"mstop\": 1");
	write_text(out, "trace", scene->trace);
	write_text(out, "command", scene->command);
	write_number(out, "pid", info->pid);
	write_text(out, "state", state_names[s->state]);
	write_text(out, "end", s->state == TOP_ENDED ? top_state_text(s, text) : NULL);
	write_number(out, "duration_ns", s->now_ns - s->begin_ns);
	write_number(out, "events", s->events);
	write_number(out, "threads_total", thread_count(scene->reader));
	write_number(out, "sample_bytes", info->sample_bytes);
	write_live(out, &s->total, true);
	write_number(out, "peak_bytes", s->peak.bytes);
	write_number(out, "peak_ns", s->peak.time_ns);
	write_allocated(out, &s->total);
	write_memory(out, "resident_bytes", s->resident);
	write_memory(out, "peak_resident_bytes", s->peak_resident);
	write_number(out, "window_ns", s->window_ns);
	write_number(out, "rate_ns", s->rate_ns);
}

/* ---- Tables ---- */

static void write_calls(struct out *out, const struct top_scene *scene, uint32_t frame, bool *first)
{
	uint32_t n = 0;
	const uint32_t *calls = call_sites_of(sites_calls(scene->sites), frame, &n);
	for (uint32_t i = 0; calls && i < n; i++) {
		const struct call *call = call_sites_at(sites_calls(scene->sites), calls[i]);
		out_text(out, *first ? "" : ", ");
		json_string(out, call->function);
		*first = false;
	}
}

static void write_stack(struct out *out, const struct top_scene *scene, uint32_t stack)
{
	uint32_t n;
	const struct mst_stack *stacks = mst_reader_stacks(scene->reader, &n);
	bool first = true;
	write_key(out, "calls_of_stack");
	out_text(out, "[");
	for (; stack != MST_ROOT_STACK; stack = stacks[stack].parent)
		write_calls(out, scene, stacks[stack].frame, &first);
	out_text(out, "]");
}

static void write_site(struct out *out, const struct top_scene *scene, const struct top_site *site)
{
	const struct call *call =
		site->call == MST_NONE ? NULL : call_sites_at(sites_calls(scene->sites), site->call);
	const struct call *via =
		site->via == MST_NONE ? NULL : call_sites_at(sites_calls(scene->sites), site->via);
	const char *module = sites_module(scene->sites, site->module);
	out_text(out, "{\"function\": ");
	json_string(out, call ? call->function : "[no stack]");
	write_text(out, "file", call && *call->file ? call->file : NULL);
	if (call && *call->file && call->line)
		write_number(out, "line", (uint64_t)call->line);
	else
		write_text(out, "line", NULL);
	write_text(out, "module", *module ? module : NULL);
	write_text(out, "via", via ? via->function : NULL);
	out_printf(out, ", \"stack\": \"%016" PRIx64 "\"", site->id);
	write_stack(out, scene, site->stack);
	write_live(out, &site->row, true);
	write_allocated(out, &site->row);
	out_text(out, "}");
}

static void write_thread(struct out *out, const struct top_thread *thread, bool known)
{
	out_printf(out, "{\"tid\": %" PRIu32, thread->tid);
	write_text(out, "name", *thread->name ? thread->name : NULL);
	write_live(out, &thread->row, known);
	write_allocated(out, &thread->row);
	write_number(out, "frees", thread->frees);
	out_text(out, "}");
}

void top_json_write(struct out *out, const struct top_scene *scene, uint64_t top)
{
	const struct top_sample *s = scene->sample;
	write_head(out, scene);
	write_number(out, "sites_total", s->n_sites);
	write_key(out, "sites");
	out_text(out, "[");
	for (uint32_t i = 0; i < s->n_sites && i < top; i++) {
		out_text(out, i ? ",\n\t" : "\n\t");
		write_site(out, scene, &s->sites[i]);
	}
	out_text(out, "]");
	write_key(out, "threads");
	out_text(out, "[");
	for (uint32_t i = 0; i < s->n_threads && i < top; i++) {
		out_text(out, i ? ",\n\t" : "\n\t");
		write_thread(out, &s->threads[i], !s->lacks_threads);
	}
	out_text(out, "]}\n");
}
