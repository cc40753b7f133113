/* SPDX-License-Identifier: Apache-2.0 */
/* audit/log/log.h — takes the events of the audit, and appends them to the store in batches.
 *
 * An event is a note. audit_begin writes the note's intent to the spool, a file that survives the
 * process, before the request has any effect; audit_end writes the whole row there before the
 * request is answered. One thread appends ended notes to the chain (store/audit.h) and signs
 * checkpoints. So after kill -9 at any step:
 *
 * - an answered request has its row: in the store, or in the spool, which the next start appends;
 * - a request that had begun has a row with the result "interrupted";
 * - no row is there twice: the store knows written events by their ids.
 *
 * A write to the spool waits for the disk only for notes that ask for it (is_durable): after a
 * power cut the intents of those are there. docs/decisions/audit-chain.md says why.
 *
 * The functions of a note accept NULL, for a server without a log. Any thread may call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"
#include "store/audit.h"

#define AUDIT_QUEUE_MAX 65536
#define AUDIT_BATCH_MAX 512
#define AUDIT_INTERVAL_MS 250
#define AUDIT_CHECKPOINT_ROWS 1000
#define AUDIT_STRANGERS_PER_MINUTE 600
#define AUDIT_LINKS_PER_MINUTE 60
#define AUDIT_CHECKPOINT_MS 60000

struct audit_log;
struct audit_log_options {
	struct store *store;
	const char *folder; /* of the spool; made when it is missing */
	const char *node, *version;
	int64_t keep_ms, rows_max; /* retention; 0 = no bound */
	/* For tests; 0 = the values above. */
	size_t queue_max;
	int64_t interval_ms, checkpoint_rows, checkpoint_ms;
};
/* Appends what an earlier process left in the spool. */
MUST_CHECK int audit_log_open(const struct audit_log_options *options, struct audit_log **ret,
                              struct error *err);
/* Appends the waiting notes, for some seconds at most, and signs. Notes that are still open have
 * the result "interrupted" at the next start. NULL is fine. */
void audit_log_close(struct audit_log *log);

struct audit_counts {
	uint64_t written, dropped, unspooled, checkpoints, failed; /* since the start */
	uint64_t strangers; /* refusals of strangers that have no row, since the start */
	size_t queued, open;
	int64_t checkpoint_at; /* unix ms of the last one; 0 = none since the start */
	int64_t sequence;      /* the newest row that this server has written */
};
struct audit_counts audit_log_counts(struct audit_log *log);

/* The checkpoint of the newest row, signed now when it has none. sequence 0: there are no rows. */
MUST_CHECK int audit_log_checkpoint(struct audit_log *log, struct arena *a,
                                    struct audit_checkpoint_record *ret, struct error *err);
/* The public key. ERROR_UNAVAILABLE when this server has another secret key than those that sign.
 */
MUST_CHECK int audit_log_key(const struct audit_log *log, unsigned char ret[AUDIT_KEY_SIZE],
                             struct error *err);

/* Texts are copied and cleaned; NULL = none. */
struct audit_start {
	const char *project_id, *user_id, *key_id, *via, *address, *user_agent, *action, *method,
	        *path, *target_kind, *target_id, *conversation, *request_id;
	struct span after_json; /* an object; empty = none */
	bool is_durable;        /* the intent is on the disk when audit_begin returns: blocks */
};
struct audit_note;
/* ERROR_UNAVAILABLE when the store is so far behind that the queue is full. *ret is NULL without a
 * log. */
MUST_CHECK int audit_begin(struct audit_log *log, const struct audit_start *start,
                           struct audit_note **ret, struct error *err);
void audit_set_project(struct audit_note *n, const char *project_id);
void audit_set_who(struct audit_note *n, const char *user_id, const char *key_id);
void audit_set_target(struct audit_note *n, const char *kind, const char *id);
/* The id of what was made, where the request names no target. */
void audit_set_made(struct audit_note *n, const char *id);
/* The changed members as JSON objects; what is too long is replaced by a note of its size. */
void audit_set_change(struct audit_note *n, struct span before_json, struct span after_json);
/* Ends the note: the log takes it. `result` lives for ever. */
void audit_end(struct audit_note *n, const char *result, int64_t status);
/* Nothing was done: there is no row. */
void audit_cancel(struct audit_note *n);
/* Whether one more refusal of a caller without a key may have a row: strangers must not fill the
 * audit. Counts those that may not. False without a log. */
bool audit_admits_stranger(struct audit_log *log);
/* Whether one more use of a link to the target may have a row in this minute. Counts those that may
 * not with the strangers. False without a log. */
bool audit_admits_link(struct audit_log *log, const char *target);
/* An event without an intent. Beyond twice the length of the queue it is dropped and counted. */
void audit_add(struct audit_log *log, const struct audit_start *start, const char *result,
               int64_t status);
