/* SPDX-License-Identifier: Apache-2.0 */
/* audit/log/parts.h — private: notes, and the files of the spool. */
#pragma once

#include <pthread.h>

#include "audit/log/log.h"
#include "base/list.h"
#include "base/map.h"

struct audit_segment;

struct audit_note {
	struct list item; /* of the open notes, or of the queue */
	struct audit_log *log;
	struct audit_row row;          /* its texts are in `texts` or in the buffers */
	struct audit_segment *segment; /* that has the note's last line; NULL = none */
	struct buf project, user, key, target_kind, target_id, before, after;
	char texts[];
};
/* Outside of the lists and the spool. */
struct audit_note *note_new(struct audit_log *log, const struct audit_start *start);
void note_free(struct audit_note *n);

/* spool.c: lines "B\tFIELD…\n" for intents, "E\tFIELD…\n" for rows, and "C\tFIELD…\n" for
 * intents that have no row after all. No field has a tab or a line
 * break. A file is removed once no waiting note has its last line there. The caller holds the
 * log's mutex. */
struct audit_segment {
	struct list item;
	uint64_t number;
	size_t notes; /* that have their last line here */
};
struct audit_spool {
	int folder, fd;       /* fd: of the newest segment */
	struct list segments; /* oldest first */
	uint64_t number;
	size_t size;
};
#define SPOOL_INTENT 'B'
#define SPOOL_ROW 'E'
#define SPOOL_CANCEL 'C'
/* When a new segment is begun. */
#define SPOOL_SEGMENT_MAX ((size_t)8 << 20)

MUST_CHECK int spool_open(const char *folder, struct audit_spool *ret, struct error *err);
void spool_close(struct audit_spool *s);
/* Begins an empty segment. */
MUST_CHECK int spool_begin(struct audit_spool *s, struct error *err);
void spool_line_write(struct buf *out, char kind, const struct audit_row *row);
/* False for a line that is damaged. Texts are in the arena; the row has no number. */
bool spool_line_parse(struct arena *a, struct span line, char *ret_kind, struct audit_row *ret);
MUST_CHECK int spool_add(struct audit_spool *s, char kind, struct audit_note *n, struct error *err);
/* The note needs its line no longer. */
void spool_release(struct audit_spool *s, struct audit_note *n);
/* Begins a new segment when the newest is large; the intents of open notes go along. */
MUST_CHECK int spool_turn(struct audit_spool *s, const struct list *open, struct error *err);

struct audit_log {
	struct store *store;
	char *node, *version;
	int64_t keep_ms, rows_max, interval_ms, checkpoint_rows, checkpoint_ms;
	size_t queue_max;
	unsigned char seed[AUDIT_KEY_SIZE], key[AUDIT_KEY_SIZE];
	bool has_key; /* false: another secret key sealed it, so other servers sign the checkpoints
	               */
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t mutex; /* guards the rest of this block */
	pthread_cond_t changed;
	struct audit_spool spool;
	struct list open, queue; /* oldest first */
	struct audit_counts counts;
	int64_t strangers_at; /* monotonic ms: when the minute of `strangers` began */
	unsigned strangers;   /* rows about strangers in it */
	struct map links;     /* target -> uintptr_t: rows about its links in the same minute */
	bool is_closing;

	/* of the thread */
	int64_t close_at;                     /* monotonic; 0 = not closing */
	int64_t signed_sequence, signed_tick; /* monotonic ms of the last checkpoint */
	int64_t purge_tick;                   /* monotonic ms of the last purge */
	bool purges_more;
	uint64_t unspooled_told;
};

/* recover.c: appends the rows of the segments that an earlier process left, and removes those. */
MUST_CHECK int log_recover(struct audit_log *log, struct error *err);
/* checkpoint.c */
MUST_CHECK int log_find_key(struct audit_log *log, struct error *err);
/* Signs when enough rows or time have passed, or `now` is set. */
void log_sign(struct audit_log *log, int64_t sequence, bool now);
