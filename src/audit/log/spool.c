/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/log/parts.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"

#define NAME_MAX_SIZE 32

/* The members of a row in the order of a line. */
static const size_t line_texts[] = {
        offsetof(struct audit_row, id),           offsetof(struct audit_row, node),
        offsetof(struct audit_row, version),      offsetof(struct audit_row, project_id),
        offsetof(struct audit_row, user_id),      offsetof(struct audit_row, key_id),
        offsetof(struct audit_row, via),          offsetof(struct audit_row, address),
        offsetof(struct audit_row, user_agent),   offsetof(struct audit_row, action),
        offsetof(struct audit_row, method),       offsetof(struct audit_row, path),
        offsetof(struct audit_row, target_kind),  offsetof(struct audit_row, target_id),
        offsetof(struct audit_row, conversation), offsetof(struct audit_row, result),
        offsetof(struct audit_row, before_json),  offsetof(struct audit_row, after_json),
        offsetof(struct audit_row, request_id),
};

static const char **row_field(struct audit_row *row, size_t offset)
{
	return (const char **)(void *)((char *)row + offset);
}

void spool_line_write(struct buf *out, char kind, const struct audit_row *row)
{
	buf_addf(out, "%c\t%" PRId64 "\t%" PRId64, kind, row->at, row->status);
	for (size_t i = 0; i < COUNT_OF(line_texts); i++) {
		buf_add_byte(out, '\t');
		buf_add_text(out, *row_field((struct audit_row *)(uintptr_t)row, line_texts[i]));
	}
	buf_add_byte(out, '\n');
}

/* Database and chain take only what audit_clean lets through. */
static bool is_clean(struct span text)
{
	if (!span_is_utf8(text))
		return false;
	for (size_t i = 0; i < text.size; i++)
		if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7F)
			return false;
	return true;
}

static bool take_field(struct arena *a, struct span *rest, bool is_last, const char **ret)
{
	struct span field;
	bool has_more = span_split(rest, '\t', &field);

	if (has_more == is_last || !is_clean(field))
		return false;
	*ret = arena_copy(a, field);
	return true;
}

bool spool_line_parse(struct arena *a, struct span line, char *ret_kind, struct audit_row *ret)
{
	struct audit_row row = {0};
	const char *kind, *at, *status;
	struct error ignored = {0};

	if (!take_field(a, &line, false, &kind) || !take_field(a, &line, false, &at) ||
	    !take_field(a, &line, false, &status))
		return false;
	if ((kind[0] != SPOOL_INTENT && kind[0] != SPOOL_ROW && kind[0] != SPOOL_CANCEL) ||
	    kind[1] || span_parse_whole(span_of(at), 0, INT64_MAX, &row.at, &ignored) < 0 ||
	    span_parse_whole(span_of(status), 0, 999, &row.status, &ignored) < 0)
		return false;
	for (size_t i = 0; i < COUNT_OF(line_texts); i++)
		if (!take_field(a, &line, i == COUNT_OF(line_texts) - 1,
		                row_field(&row, line_texts[i])))
			return false;
	if (!row.id[0])
		return false;
	*ret_kind = kind[0];
	*ret = row;
	return true;
}

int spool_open(const char *folder, struct audit_spool *ret, struct error *err)
{
	*ret = (struct audit_spool){.folder = -1, .fd = -1};
	list_init(&ret->segments);
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder of the audit's spool '%s'", folder);
	ret->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret->folder < 0 ? FAIL_ERRNO(err, "open the audit's spool '%s'", folder) : 0;
}

static void segment_name(uint64_t number, char out[NAME_MAX_SIZE])
{
	(void)snprintf(out, NAME_MAX_SIZE, "spool-%020" PRIu64, number);
}

static void remove_segment(struct audit_spool *s, struct audit_segment *segment)
{
	char name[NAME_MAX_SIZE];

	segment_name(segment->number, name);
	if (unlinkat(s->folder, name, 0) < 0 && errno != ENOENT)
		log_warning("a file of the audit's spool stays", TEXT("name", name),
		            NUMBER("errno", errno));
	list_remove(&segment->item);
	free(segment);
}

void spool_close(struct audit_spool *s)
{
	if (!s->segments.next)
		list_init(&s->segments);
	LIST_EACH (&s->segments, struct audit_segment, segment, item) {
		if (segment->notes == 0) {
			remove_segment(s, segment);
			continue;
		}
		list_remove(&segment->item);
		free(segment);
	}
	fd_forget(&s->fd);
	fd_forget(&s->folder);
}

int spool_begin(struct audit_spool *s, struct error *err)
{
	struct audit_segment *segment;
	char name[NAME_MAX_SIZE];
	int fd;

	segment_name(s->number + 1, name);
	fd = openat(s->folder, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return FAIL_ERRNO(err, "make '%s' of the audit's spool", name);
	fd_forget(&s->fd);
	s->fd = fd;
	s->number++;
	s->size = 0;
	segment = memory_new(sizeof(*segment));
	segment->number = s->number;
	list_append(&s->segments, &segment->item);
	return 0;
}

static struct audit_segment *newest_segment(struct audit_spool *s)
{
	return LIST_ENTRY(s->segments.previous, struct audit_segment, item);
}

void spool_release(struct audit_spool *s, struct audit_note *n)
{
	struct audit_segment *segment = TAKE(n->segment);

	if (!segment)
		return;
	segment->notes--;
	if (segment->notes == 0 && segment != newest_segment(s))
		remove_segment(s, segment);
}

static void move_note(struct audit_spool *s, struct audit_note *n)
{
	newest_segment(s)->notes++;
	spool_release(s, n);
	n->segment = newest_segment(s);
}

/* A part of a line that did not fit on the disk would join the next line: it is cut off. */
static int add_lines(struct audit_spool *s, const struct buf *lines, struct error *err)
{
	if (fault_failure("audit", "spool", err) < 0)
		return -1;
	if (fd_write_all(s->fd, lines->data, lines->size, err) < 0) {
		(void)!ftruncate(s->fd, (off_t)s->size);
		return FAIL_CONTEXT(err, "write to the audit's spool");
	}
	s->size += lines->size;
	return 0;
}

int spool_add(struct audit_spool *s, char kind, struct audit_note *n, struct error *err)
{
	AUTO(buf_done) struct buf line = BUF(AUDIT_LINE_MAX);

	spool_line_write(&line, kind, &n->row);
	assert(!line.overflowed);
	if (add_lines(s, &line, err) < 0)
		return -1;
	move_note(s, n);
	return 0;
}

int spool_turn(struct audit_spool *s, const struct list *open, struct error *err)
{
	AUTO(buf_done) struct buf lines = BUF(SIZE_MAX / 2);

	if (s->size < SPOOL_SEGMENT_MAX)
		return 0;
	if (spool_begin(s, err) < 0)
		return -1;
	fault_point("audit", "segment");
	for (struct list *at = open->next; at != open; at = at->next)
		spool_line_write(&lines, SPOOL_INTENT,
		                 &LIST_ENTRY(at, struct audit_note, item)->row);
	if (lines.size > 0 && add_lines(s, &lines, err) < 0)
		return -1; /* the older segments keep these notes */
	for (struct list *at = open->next; at != open; at = at->next)
		move_note(s, LIST_ENTRY(at, struct audit_note, item));
	return 0;
}
