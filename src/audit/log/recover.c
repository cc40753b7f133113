/* SPDX-License-Identifier: Apache-2.0 */
/* What an earlier process left in the spool. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log/parts.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/map.h"

#define NAME_BEGIN "spool-"
#define SEGMENTS_MAX 4096

struct left {
	uint64_t *numbers; /* of segments, ascending */
	size_t count;
	struct arena arena;
	struct audit_row *rows; /* in the order of their events' first lines */
	size_t row_count, row_capacity;
	struct map by_id; /* id -> its number in rows, plus 1 */
	uint64_t damaged;
};

static void left_done(struct left *left)
{
	map_done(&left->by_id);
	arena_done(&left->arena);
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int list_segments(struct audit_spool *s, struct left *left, struct error *err)
{
	AUTO(folder_list_done) DIR *entries = folder_list(s->folder);
	const struct dirent *entry;
	int64_t number;
	struct error ignored = {0};

	if (!entries)
		return FAIL_ERRNO(err, "list the audit's spool");
	left->numbers = ARENA_ARRAY(&left->arena, uint64_t, SEGMENTS_MAX);
	while ((entry = readdir(entries))) {
		struct span name = span_of(entry->d_name);

		if (!span_starts_with(name, NAME_BEGIN) ||
		    span_parse_whole(span_after(name, sizeof(NAME_BEGIN) - 1), 1, INT64_MAX,
		                     &number, &ignored) < 0)
			continue;
		if (left->count == SEGMENTS_MAX)
			return FAIL(err, ERROR_LIMIT, "the audit's spool has over %d files",
			            SEGMENTS_MAX);
		left->numbers[left->count++] = (uint64_t)number;
	}
	qsort(left->numbers, left->count, sizeof(*left->numbers), compare_numbers);
	return 0;
}

/* Nothing refers to the place of a row after this. */
static void drop_cancelled(struct left *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < left->row_count; i++)
		if (left->rows[i].id)
			left->rows[kept++] = left->rows[i];
	left->row_count = kept;
}

/* The row of an event replaces its intent, and a cancellation removes it. */
static void add_line(struct left *left, struct span line)
{
	struct audit_row row;
	size_t place;
	char kind;

	if (!spool_line_parse(&left->arena, line, &kind, &row)) {
		left->damaged++;
		return;
	}
	place = (size_t)(uintptr_t)map_find(&left->by_id, row.id);
	if (place > 0) {
		if (kind == SPOOL_ROW)
			left->rows[place - 1] = row;
		else if (kind == SPOOL_CANCEL)
			left->rows[place - 1].id = NULL;
		return;
	}
	if (kind == SPOOL_CANCEL)
		return;
	left->rows = arena_grow(&left->arena, left->rows, left->row_count, &left->row_capacity,
	                        sizeof(row));
	left->rows[left->row_count++] = row;
	map_put(&left->by_id, row.id, (void *)(uintptr_t)left->row_count);
}

/* The last line may be a part: its process died while it wrote, before it answered. */
static int read_segment(const struct audit_spool *s, uint64_t number, struct left *left,
                        struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SIZE_MAX / 2);
	char name[32];
	struct span rest, line;

	(void)snprintf(name, sizeof(name), NAME_BEGIN "%020" PRIu64, number);
	if (file_read(s->folder, name, &text, err) < 0)
		return FAIL_CONTEXT(err, "read the audit's spool");
	rest = buf_span(&text);
	while (rest.size > 0 && span_split(&rest, '\n', &line))
		add_line(left, line);
	return 0;
}

static int append_left(struct audit_log *log, const struct left *left, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct audit_head head;

	for (size_t at = 0; at < left->row_count; at += AUDIT_BATCH_MAX) {
		size_t rest = left->row_count - at;
		const struct audit_batch batch = {
		        .rows = left->rows + at,
		        .count = rest < AUDIT_BATCH_MAX ? rest : AUDIT_BATCH_MAX,
		        .may_exist = true,
		};

		if (store_audit_append(log->store, &batch, &head, &a, err) < 0)
			return -1;
		fault_point("audit", "recover");
		arena_reset(&a);
	}
	return 0;
}

static void remove_left(const struct audit_spool *s, const struct left *left)
{
	char name[32];

	for (size_t i = 0; i < left->count; i++) {
		(void)snprintf(name, sizeof(name), NAME_BEGIN "%020" PRIu64, left->numbers[i]);
		if (unlinkat(s->folder, name, 0) < 0)
			log_warning("a file of the audit's spool stays", TEXT("name", name),
			            NUMBER("errno", errno));
	}
}

int log_recover(struct audit_log *log, struct error *err)
{
	AUTO(left_done) struct left left = {.numbers = NULL};

	if (list_segments(&log->spool, &left, err) < 0)
		return -1;
	for (size_t i = 0; i < left.count; i++)
		if (read_segment(&log->spool, left.numbers[i], &left, err) < 0)
			return -1;
	drop_cancelled(&left);
	if (append_left(log, &left, err) < 0)
		return FAIL_CONTEXT(err, "append what the audit's spool has");
	if (left.damaged > 0)
		log_warning("lines of the audit's spool are damaged and left out",
		            NUMBER("lines", left.damaged));
	if (left.row_count > 0)
		log_info("events of an earlier process are appended to the audit",
		         NUMBER("events", left.row_count));
	remove_left(&log->spool, &left);
	if (left.count > 0)
		log->spool.number = left.numbers[left.count - 1];
	return 0;
}
