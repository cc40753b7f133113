/* SPDX-License-Identifier: Apache-2.0 */
/* activity/activity.h — the record of what is called in sandboxes: commands, blocks of code, tool
 * calls and file operations.
 *
 * A surface begins a note when a call reaches its sandbox, adds what it learns, and ends the note
 * once. The log then owns it: ended notes wait in a queue of ACTIVITY_QUEUE_MAX, and one thread
 * writes them to the store in batches, at most ACTIVITY_INTERVAL_MS after their end. A caller never
 * waits for the store. When the store is slower than the calls, the oldest waiting notes are
 * dropped and counted. A killed process loses the notes of its last interval.
 *
 * The environment of a command is never given to a note. Arguments are cut to
 * ACTIVITY_ARGUMENTS_MAX bytes; of the output the first and the last ACTIVITY_OUTPUT_MAX bytes are
 * kept.
 *
 * A note is used by one thread at a time. The functions of a note accept NULL, for a server without
 * a log. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "store/activity.h"

#define ACTIVITY_QUEUE_MAX 8192
#define ACTIVITY_BATCH_MAX 512
#define ACTIVITY_INTERVAL_MS 250
#define ACTIVITY_ARGUMENTS_MAX 1024
#define ACTIVITY_OUTPUT_MAX 1024
#define ACTIVITY_ARTIFACTS_MAX 2048 /* bytes of the list */

struct activity_log;
struct activity_log_options {
	struct store *store;
	int64_t sandbox_rows_max; /* rows of each sandbox; the oldest are dropped */
	size_t queue_max;         /* 0 = ACTIVITY_QUEUE_MAX */
	int64_t interval_ms;      /* 0 = ACTIVITY_INTERVAL_MS */
};
MUST_CHECK int activity_log_open(const struct activity_log_options *options,
                                 struct activity_log **ret, struct error *err);
/* Writes the waiting notes, for some seconds at most. No note may be ended afterwards. NULL is
 * fine. */
void activity_log_close(struct activity_log *log);

struct activity_counts {
	uint64_t written, dropped; /* rows */
	size_t queued;
};
struct activity_counts activity_log_counts(struct activity_log *log);

/* As store_event_watch, on the log's thread after each batch. The log has one watcher at most; NULL
 * removes it, and it is not called after this returns. */
struct event_watcher;
void activity_log_watch(struct activity_log *log, const struct event_watcher *watcher);

struct activity_start {
	enum activity_kind kind;
	const char *operation; /* lives for ever */
	/* Copied; NULL = none. */
	const char *project_id, *sandbox_id, *key_id, *user_id, *conversation;
	int64_t at; /* 0 = now */
};
struct activity_note;
/* NULL without a log. */
struct activity_note *activity_begin(struct activity_log *log, const struct activity_start *start);
/* `operation` lives for ever. */
void activity_set_operation(struct activity_note *n, const char *operation);
/* Adds a word of a command line, quoted if necessary. */
void activity_add_word(struct activity_note *n, const char *word);
/* Adds a text as it is. */
void activity_add_text(struct activity_note *n, struct span text);
void activity_add_output(struct activity_note *n, struct span bytes);
/* Counts transferred bytes that are not kept. */
void activity_add_bytes(struct activity_note *n, uint64_t count);
/* The output of a call that is known only from its end on, `total` bytes in all. */
void activity_set_tail(struct activity_note *n, struct span tail, uint64_t total);
void activity_add_artifact(struct activity_note *n, const char *id, const char *path);
/* How the call has ended. The last report counts. */
struct activity_result {
	enum activity_outcome outcome;
	int64_t exit_code;   /* -1 = none */
	int64_t duration_ms; /* -1: the note measures it */
	const char *reason;  /* why it failed, besides an exit code; NULL or "" = nothing */
};
void activity_report(struct activity_note *n, const struct activity_result *result);
void activity_succeed(struct activity_note *n);
void activity_fail(struct activity_note *n, const char *reason);
/* Whether a report was made. */
bool activity_is_reported(const struct activity_note *n);
/* False for NULL. */
bool activity_is(const struct activity_note *n, enum activity_kind kind);
/* Ends the note: the log takes it. Without a report its outcome is unknown. */
void activity_end(struct activity_note *n);
/* Frees the note; no row is written. */
void activity_forget(struct activity_note *n);
