/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "fleet/build/build_parts.h"
#include "fleet/core/fleet_state.h"
#include "wire/agent.h"

#define LINE_MAX_SIZE ((size_t)4096)
#define CHUNK_BYTES ((size_t)64 * 1024)
#define STORE_EVERY_MS 1000
#define LOAD_CHUNKS 16
#define MASK "***"
#define SECRET_LINE_MIN 4 /* shorter lines of a secret are not masked: they are in other texts */
/* Reserved for the build's own lines at the end. */
#define OWN_BYTES ((size_t)64 * 1024)

struct build_log {
	atomic_uint refs;
	pthread_mutex_t mutex; /* over all of this */
	struct buf text;       /* lines of NDJSON */
	size_t *ends;          /* where in it each line ends */
	size_t count, capacity;
	size_t stored; /* lines that the store has */
	int64_t stored_at;
	bool is_full, is_whole;
};

struct build_log *build_log_new(void)
{
	struct build_log *log = memory_new(sizeof(*log));

	atomic_init(&log->refs, 1);
	pthread_mutex_init(&log->mutex, NULL);
	log->text = BUF(2 * BUILD_LOG_MAX);
	log->stored_at = clock_monotonic_ms();
	return log;
}

struct build_log *build_log_ref(struct build_log *log)
{
	atomic_fetch_add(&log->refs, 1);
	return log;
}

void fleet_build_log_close(struct build_log *log)
{
	if (!log || atomic_fetch_sub(&log->refs, 1) > 1)
		return;
	buf_done(&log->text);
	free(log->ends);
	pthread_mutex_destroy(&log->mutex);
	free(log);
}

static void add_end(struct build_log *log)
{
	log->ends = memory_grow(log->ends, log->count, &log->capacity, sizeof(*log->ends));
	log->ends[log->count++] = log->text.size;
}

/* No reader of JSON takes a NUL. */
static void add_text(struct buf *out, struct span line)
{
	char clean[LINE_MAX_SIZE];

	for (size_t i = 0; i < line.size; i++)
		clean[i] = (char)(line.data[i] ? line.data[i] : ' ');
	json_write_text(out, (struct span){clean, line.size});
}

static void add_line(struct build_log *log, int64_t step, enum build_stream stream,
                     struct span line)
{
	static const char *const streams[] = {
	        [BUILD_OWN] = "build", [BUILD_STDOUT] = "stdout", [BUILD_STDERR] = "stderr"};
	struct buf *out = &log->text;

	buf_addf(out, "{\"line\":%zu,\"at\":\"", log->count);
	clock_format(out, clock_unix_ms());
	buf_addf(out,
	         "\",\"step\":%lld,\"level\":\"%s\",\"stream\":\"%s\",\"text\":", (long long)step,
	         stream == BUILD_STDERR ? "warning" : "info", streams[stream]);
	add_text(out, line);
	buf_add_text(out, "}\n");
	add_end(log);
}

/* Output above the limit is dropped, with one notice; the build's own lines still fit. */
static bool has_room(struct build_log *log, int64_t step, enum build_stream stream)
{
	static const char notice[] = "the log is longer than 4 MiB: the rest of the commands' "
	                             "output is not kept";

	if (stream == BUILD_OWN)
		return log->text.size < BUILD_LOG_MAX + OWN_BYTES;
	if (log->text.size < BUILD_LOG_MAX)
		return true;
	if (!log->is_full)
		add_line(log, step, BUILD_OWN, SPAN(notice));
	log->is_full = true;
	return false;
}

void build_log_add(struct build_log *log, int64_t step, enum build_stream stream, struct span line)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);

	do {
		if (!has_room(log, step, stream))
			break;
		add_line(log, step, stream, span_take(&line, LINE_MAX_SIZE));
	} while (line.size > 0);
}

void build_log_say(struct build *b, const char *format, ...)
{
	AUTO(buf_done) struct buf text = BUF(LINE_MAX_SIZE);
	va_list args;

	va_start(args, format);
	buf_addv(&text, format, args);
	va_end(args);
	build_log_add(b->log, b->record.step, BUILD_OWN, buf_span(&text));
	build_log_store(b, false);
}

static size_t begin_of(const struct build_log *log, size_t line)
{
	return line > 0 ? log->ends[line - 1] : 0;
}

struct build_log_position fleet_build_log_read(struct build_log *log, int64_t since,
                                               struct buf *out)
{
	struct build_log_position position = {.next = since < 0 ? 0 : since};
	size_t room = out->size_max - out->size, first, last;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);

	if ((uint64_t)position.next < log->count) {
		first = last = (size_t)position.next;
		while (last < log->count && log->ends[last] - begin_of(log, first) <= room)
			last++;
		buf_add(out, log->text.data + begin_of(log, first),
		        begin_of(log, last) - begin_of(log, first));
		position.next = (int64_t)last;
	}
	position.is_whole = log->is_whole && (uint64_t)position.next >= log->count;
	return position;
}

/* The next lines for the store: false if there are none, or only few and recent ones. */
static bool take_chunk(struct build_log *log, struct arena *a, bool all, struct build_chunk *ret)
{
	bool taken = false;
	size_t begin, last;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);

	begin = begin_of(log, log->stored);
	if (log->stored < log->count && (all || log->text.size - begin >= CHUNK_BYTES ||
	                                 clock_monotonic_ms() - log->stored_at >= STORE_EVERY_MS)) {
		last = log->stored + 1;
		while (last < log->count && log->ends[last] - begin <= CHUNK_BYTES)
			last++;
		ret->first_line = (int64_t)log->stored;
		ret->line_count = (int64_t)(last - log->stored);
		ret->text = arena_copy(
		        a, (struct span){log->text.data + begin, begin_of(log, last) - begin});
		log->stored = last;
		log->stored_at = clock_monotonic_ms();
		taken = true;
	}
	return taken;
}

void build_log_store(struct build *b, bool all)
{
	struct build_chunk chunk = {.build_id = b->record.id};
	bool more = true;

	while (more) {
		AUTO(arena_done) struct arena arena = {0};
		struct error err = {0};

		more = take_chunk(b->log, &arena, all, &chunk);
		if (more && store_build_log_add(b->fleet->store, &chunk, &err) < 0)
			log_warning("lines of a build's log are lost", TEXT("build", b->record.id),
			            FAILURE(&err));
	}
	pthread_mutex_lock(&b->log->mutex);
	b->record.log_lines = (int64_t)b->log->count;
	pthread_mutex_unlock(&b->log->mutex);
}

void build_log_end(struct build_log *log)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);

	log->is_whole = true;
}

/* Leaves out lines before `since` and lines that do not fit. */
static int64_t add_lines(const struct build_chunk *chunk, int64_t since, struct buf *out)
{
	struct span rest = span_of(chunk->text), line;
	int64_t at = chunk->first_line;

	while (span_split(&rest, '\n', &line)) {
		if (at >= since) {
			if (out->size + line.size + 1 > out->size_max)
				return at;
			buf_add_span(out, line);
			buf_add_byte(out, '\n');
		}
		at++;
	}
	return at;
}

int fleet_build_log_load(struct fleet *fleet, const char *id, int64_t since, struct buf *out,
                         int64_t *ret_next, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct build_log_page page = {id, since, LOAD_CHUNKS};
	struct build_chunks chunks;

	if (store_build_log_list(fleet->store, &arena, &page, &chunks, err) < 0)
		return -1;
	*ret_next = since;
	for (size_t i = 0; i < chunks.count; i++) {
		const struct build_chunk *chunk = &chunks.items[i];
		int64_t end = chunk->first_line + chunk->line_count;

		*ret_next = add_lines(chunk, since, out);
		if (*ret_next < end)
			break;
	}
	return 0;
}

void build_lines_init(struct build_lines *l, struct build *b)
{
	*l = (struct build_lines){.build = b, .rest = {BUF(LINE_MAX_SIZE), BUF(LINE_MAX_SIZE)}};
}

static const char *find_bytes(struct span text, struct span what)
{
	return memmem(text.data, text.size, what.data, what.size);
}

/* Replaces a line of a secret in the line; a command may print what it reads. */
static void mask_secret(struct buf *line, struct span secret)
{
	AUTO(buf_done) struct buf clean = BUF(LINE_MAX_SIZE);
	struct span rest = buf_span(line);
	const char *at;

	while ((at = find_bytes(rest, secret))) {
		buf_add(&clean, rest.data, (size_t)(at - rest.data));
		buf_add_text(&clean, MASK);
		span_skip(&rest, (size_t)(at - rest.data) + secret.size);
	}
	if (clean.size == 0)
		return;
	buf_add_span(&clean, rest);
	buf_reset(line);
	buf_add_span(line, buf_span(&clean));
}

static struct span mask_secrets(const struct json_map *secrets, struct span text, struct buf *line)
{
	if (secrets->count == 0)
		return text;
	buf_add_span(line, text);
	for (size_t i = 0; i < secrets->count; i++) {
		struct span rest = span_of(secrets->pairs[i].value), part;
		bool more = true;

		while (more) {
			more = span_split(&rest, '\n', &part);
			part = span_trim(part);
			if (part.size >= SECRET_LINE_MIN)
				mask_secret(line, part);
		}
	}
	return buf_span(line);
}

static void end_line(struct build_lines *l, unsigned stream, struct span line)
{
	AUTO(buf_done) struct buf masked = BUF(LINE_MAX_SIZE);

	if (line.size > 0 && line.data[line.size - 1] == '\r')
		line.size--;
	line = mask_secrets(&l->build->spec.secrets, line, &masked);
	build_log_add(l->build->log, l->build->record.step,
	              stream == 0 ? BUILD_STDOUT : BUILD_STDERR, line);
}

static void append_piece(struct build_lines *l, unsigned stream, struct span piece)
{
	struct buf *rest = &l->rest[stream];

	while (piece.size > 0) {
		buf_add_span(rest, span_take(&piece, rest->size_max - rest->size));
		if (rest->size == rest->size_max) {
			end_line(l, stream, buf_span(rest));
			buf_reset(rest);
		}
	}
}

void build_lines_add(struct build_lines *l, const struct agent_output *output)
{
	unsigned stream = output->stream == AGENT_STDERR;
	struct span rest = output->bytes, line;

	while (span_split(&rest, '\n', &line)) {
		append_piece(l, stream, line);
		end_line(l, stream, buf_span(&l->rest[stream]));
		buf_reset(&l->rest[stream]);
	}
	append_piece(l, stream, line);
	build_log_store(l->build, false);
}

void build_lines_done(struct build_lines *l)
{
	for (unsigned stream = 0; l->build && stream < 2; stream++) {
		if (l->rest[stream].size > 0)
			end_line(l, stream, buf_span(&l->rest[stream]));
		buf_done(&l->rest[stream]);
	}
}
