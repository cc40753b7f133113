/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of ended notes, and the thread that appends them. */
#include "audit/log/log.h"

#include <stdlib.h>
#include <unistd.h>

#include "audit/log/parts.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/thread.h"

#define AGAIN_MS 1000 /* after a failed append */
#define CLOSE_MS 5000 /* for the last appends */
#define PURGE_MS (INT64_C(3600) * 1000)
#define PURGE_CALLS_MAX 100
#define STRANGERS_MS 60000
#define LINKS_MAX 8192 /* targets in a minute; then it begins anew */

struct audit_taken {
	struct audit_note *notes[AUDIT_BATCH_MAX];
	struct audit_row rows[AUDIT_BATCH_MAX];
	size_t count;
	bool may_exist;
};

/* With the mutex held. A note without its line is kept in memory alone. */
static void spool_note(struct audit_log *log, char kind, struct audit_note *n)
{
	struct error err = {0};

	if (log->spool.fd < 0 || spool_add(&log->spool, kind, n, &err) == 0)
		return;
	if (log->counts.unspooled++ == 0)
		log_warning("the audit's spool is not written: events are lost when this process "
		            "is killed",
		            FAILURE(&err));
}

static int refuse_begin(struct error *err)
{
	(void)FAIL(err, ERROR_UNAVAILABLE, "the audit is behind: its queue is full");
	return FAIL_HINT(err, "try again; the operator finds the cause by atoll_audit_queue and "
	                      "the server's log");
}

/* Another thread may turn the spool meanwhile: its old segment was brought to the disk then. */
static int sync_spool(struct audit_log *log, struct error *err)
{
	AUTO_CLOSE int fd = -1;

	pthread_mutex_lock(&log->mutex);
	if (log->spool.fd >= 0)
		fd = dup(log->spool.fd);
	pthread_mutex_unlock(&log->mutex);
	if (fd >= 0 && fdatasync(fd) < 0)
		return FAIL_ERRNO(err, "bring the audit's spool to the disk");
	return 0;
}

int audit_begin(struct audit_log *log, const struct audit_start *start, struct audit_note **ret,
                struct error *err)
{
	struct audit_note *n = NULL;

	*ret = NULL;
	if (!log)
		return 0;
	n = note_new(log, start);
	pthread_mutex_lock(&log->mutex);
	if (log->counts.queued + log->counts.open >= log->queue_max) {
		pthread_mutex_unlock(&log->mutex);
		note_free(n);
		return refuse_begin(err);
	}
	spool_note(log, SPOOL_INTENT, n);
	list_append(&log->open, &n->item);
	log->counts.open++;
	pthread_mutex_unlock(&log->mutex);
	fault_point("audit", "begin");
	*ret = n;
	if (start->is_durable && sync_spool(log, err) < 0) {
		audit_end(TAKE(*ret), "failed", 0);
		return -1;
	}
	return 0;
}

/* With the mutex held. */
static void queue_note(struct audit_log *log, struct audit_note *n)
{
	spool_note(log, SPOOL_ROW, n);
	list_append(&log->queue, &n->item);
	log->counts.queued++;
	if (log->counts.queued == 1 || log->counts.queued == AUDIT_BATCH_MAX)
		(void)pthread_cond_signal(&log->changed);
}

void audit_end(struct audit_note *n, const char *result, int64_t status)
{
	struct audit_log *log;

	if (!n)
		return;
	log = n->log;
	n->row.result = result;
	n->row.status = status;
	pthread_mutex_lock(&log->mutex);
	list_remove(&n->item);
	log->counts.open--;
	queue_note(log, n);
	pthread_mutex_unlock(&log->mutex);
	fault_point("audit", "end");
}

void audit_cancel(struct audit_note *n)
{
	struct audit_log *log;

	if (!n)
		return;
	log = n->log;
	pthread_mutex_lock(&log->mutex);
	list_remove(&n->item);
	log->counts.open--;
	spool_note(log, SPOOL_CANCEL, n);
	spool_release(&log->spool, n);
	pthread_mutex_unlock(&log->mutex);
	note_free(n);
}

/* With the mutex held. */
static void begin_minute(struct audit_log *log)
{
	int64_t now = clock_monotonic_ms();

	if (now - log->strangers_at < STRANGERS_MS && log->links.count < LINKS_MAX)
		return;
	log->strangers_at = now;
	log->strangers = 0;
	map_done(&log->links);
	log->links = (struct map){0};
}

bool audit_admits_link(struct audit_log *log, const char *target)
{
	uintptr_t count;

	if (!log)
		return false;
	pthread_mutex_lock(&log->mutex);
	begin_minute(log);
	count = (uintptr_t)map_find(&log->links, target);
	if (count < AUDIT_LINKS_PER_MINUTE)
		(void)map_put(&log->links, target, (void *)(count + 1));
	else
		log->counts.strangers++;
	pthread_mutex_unlock(&log->mutex);
	return count < AUDIT_LINKS_PER_MINUTE;
}

bool audit_admits_stranger(struct audit_log *log)
{
	bool is_first = false, is_admitted;

	if (!log)
		return false;
	pthread_mutex_lock(&log->mutex);
	begin_minute(log);
	is_admitted = log->strangers < AUDIT_STRANGERS_PER_MINUTE;
	if (is_admitted) {
		log->strangers++;
	} else {
		log->counts.strangers++;
		is_first = log->strangers++ == AUDIT_STRANGERS_PER_MINUTE;
	}
	pthread_mutex_unlock(&log->mutex);
	if (is_first)
		log_warning("further refusals of callers without a key have no row in this minute");
	return is_admitted;
}

void audit_add(struct audit_log *log, const struct audit_start *start, const char *result,
               int64_t status)
{
	struct audit_note *n;

	if (!log)
		return;
	n = note_new(log, start);
	n->row.result = result;
	n->row.status = status;
	pthread_mutex_lock(&log->mutex);
	if (log->counts.queued >= 2 * log->queue_max)
		log->counts.dropped++;
	else
		queue_note(log, TAKE(n));
	pthread_mutex_unlock(&log->mutex);
	if (n)
		note_free(n);
}

/* Waits for a batch, at most for an interval. False at the end: the log is closing and has no
 * notes. */
static bool take_batch(struct audit_log *log, struct audit_taken *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);
	int64_t until = deadline_after(log->interval_ms);

	while (log->counts.queued < AUDIT_BATCH_MAX && !log->is_closing &&
	       deadline_poll_ms(until) > 0)
		thread_wait(&log->changed, &log->mutex, until);
	if (log->is_closing && log->close_at == 0)
		log->close_at = deadline_after(CLOSE_MS);
	ret->count = 0;
	while (log->counts.queued > 0 && ret->count < AUDIT_BATCH_MAX) {
		struct audit_note *n = LIST_ENTRY(log->queue.next, struct audit_note, item);

		list_remove(&n->item);
		log->counts.queued--;
		ret->rows[ret->count] = n->row;
		ret->notes[ret->count++] = n;
	}
	return ret->count > 0 || !log->is_closing;
}

/* Puts the notes from `from` on back, before the younger ones, and pauses. */
static void put_notes_back(struct audit_log *log, const struct audit_taken *b, size_t from)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);
	int64_t until = deadline_after(AGAIN_MS);

	for (size_t i = b->count; i > from; i--) {
		list_insert_after(&log->queue, &b->notes[i - 1]->item);
		log->counts.queued++;
	}
	log->counts.failed++;
	while (!log->is_closing && deadline_poll_ms(until) > 0)
		thread_wait(&log->changed, &log->mutex, until);
}

static void finish_notes(struct audit_log *log, const struct audit_taken *b, size_t done,
                         int64_t sequence)
{
	struct error err = {0};

	pthread_mutex_lock(&log->mutex);
	log->counts.written += done;
	if (sequence > 0)
		log->counts.sequence = sequence;
	for (size_t i = 0; i < done; i++)
		spool_release(&log->spool, b->notes[i]);
	if (spool_turn(&log->spool, &log->open, &err) < 0)
		log_warning("the audit's spool begins no new file", FAILURE(&err));
	pthread_mutex_unlock(&log->mutex);
	for (size_t i = 0; i < done; i++)
		note_free(b->notes[i]);
}

static int append_rows(struct audit_log *log, struct audit_taken *b, size_t from, size_t count,
                       int64_t *ret_sequence, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	const struct audit_batch rows = {b->rows + from, count, b->may_exist};
	struct audit_head head;

	if (fault_failure("audit", "append", err) < 0 ||
	    store_audit_append(log->store, &rows, &head, &a, err) < 0)
		return -1;
	fault_point("audit", "appended");
	*ret_sequence = head.sequence;
	return 0;
}

/* A row that the store refuses by itself holds up no other. Returns how many notes are done. */
static size_t append_singly(struct audit_log *log, struct audit_taken *b, int64_t *ret_sequence)
{
	struct error err = {0};

	for (size_t i = 0; i < b->count; i++) {
		if (append_rows(log, b, i, 1, ret_sequence, &err) == 0)
			continue;
		/* A full disk or a lost database is no fault of the row: it waits. */
		if (err.code != ERROR_TOO_LARGE && err.code != ERROR_INVALID)
			return i;
		log_error("a row of the audit is refused by the store",
		          TEXT("request", b->rows[i].request_id), FAILURE(&err));
		error_clear(&err);
		pthread_mutex_lock(&log->mutex);
		log->counts.dropped++;
		pthread_mutex_unlock(&log->mutex);
	}
	return b->count;
}

/* Returns how many notes are done. After a failure it is not known whether they were written. */
static size_t append_batch(struct audit_log *log, struct audit_taken *b, int64_t *ret_sequence)
{
	struct error err = {0};

	*ret_sequence = 0;
	if (b->count == 0 || append_rows(log, b, 0, b->count, ret_sequence, &err) == 0) {
		b->may_exist = false;
		return b->count;
	}
	log_warning("the audit is not written yet", NUMBER("rows", b->count), FAILURE(&err));
	b->may_exist = true;
	return append_singly(log, b, ret_sequence);
}

static void purge_rows(struct audit_log *log, const struct audit_note *told)
{
	const struct audit_retention keep = {
	        .before = log->keep_ms ? clock_unix_ms() - log->keep_ms : 0,
	        .count_max = log->rows_max ? log->rows_max : INT64_MAX / 2,
	        .told = told->row,
	};
	struct audit_purged purged = {.more = true};
	struct error err = {0};

	if (store_audit_purge(log->store, &keep, &purged, &err) < 0)
		log_warning("old rows of the audit are not dropped yet", FAILURE(&err));
	else if (purged.to > 0)
		log_info("old rows of the audit are dropped", NUMBER("from", purged.from),
		         NUMBER("to", purged.to));
	log->purges_more = purged.more && err.code == ERROR_NONE;
}

/* The chain tells of its own retention. */
static void purge_old(struct audit_log *log)
{
	const struct audit_start start = {
	        .via = "system", .action = "audit.truncate", .target_kind = "audit"};

	if (log->purge_tick && clock_monotonic_ms() - log->purge_tick < PURGE_MS)
		return;
	log->purge_tick = clock_monotonic_ms();
	log->purges_more = true;
	for (unsigned i = 0; i < PURGE_CALLS_MAX && log->purges_more; i++) {
		struct audit_note *told = note_new(log, &start);

		told->row.result = "ok";
		purge_rows(log, told);
		note_free(told);
	}
}

static void *run_log(void *context)
{
	struct audit_log *log = context;
	struct audit_taken *b = memory_new(sizeof(*b));
	int64_t newest = 0, sequence;

	while (take_batch(log, b)) {
		size_t done = append_batch(log, b, &sequence);

		finish_notes(log, b, done, sequence);
		newest = sequence > newest ? sequence : newest;
		log_sign(log, newest, false);
		purge_old(log);
		if (done < b->count) {
			put_notes_back(log, b, done);
			if (log->close_at && deadline_poll_ms(log->close_at) == 0)
				break;
		}
	}
	log_sign(log, newest, true);
	free(b);
	return NULL;
}

static int start_log(struct audit_log *log, const char *folder, struct error *err)
{
	int failure;

	if (log_find_key(log, err) < 0 || spool_open(folder, &log->spool, err) < 0 ||
	    log_recover(log, err) < 0 || spool_begin(&log->spool, err) < 0)
		return -1;
	failure = thread_start(&log->thread, NULL, run_log, log);
	log->has_thread = failure == 0;
	return failure == 0 ? 0
	                    : FAIL(err, ERROR_SYSTEM, "start the thread of the audit: error %d",
	                           failure);
}

static int64_t value_or(int64_t given, int64_t usual)
{
	return given ? given : usual;
}

int audit_log_open(const struct audit_log_options *o, struct audit_log **ret, struct error *err)
{
	struct audit_log *log = memory_new(sizeof(*log));

	*log = (struct audit_log){
	        .store = o->store,
	        .node = memory_text(o->node),
	        .version = memory_text(o->version),
	        .keep_ms = o->keep_ms,
	        .rows_max = o->rows_max,
	        .interval_ms = value_or(o->interval_ms, AUDIT_INTERVAL_MS),
	        .checkpoint_rows = value_or(o->checkpoint_rows, AUDIT_CHECKPOINT_ROWS),
	        .checkpoint_ms = value_or(o->checkpoint_ms, AUDIT_CHECKPOINT_MS),
	        .queue_max = o->queue_max ? o->queue_max : AUDIT_QUEUE_MAX,
	        .spool = {.folder = -1, .fd = -1},
	};
	list_init(&log->open);
	list_init(&log->queue);
	list_init(&log->spool.segments);
	pthread_mutex_init(&log->mutex, NULL);
	thread_condition_init(&log->changed);
	if (start_log(log, o->folder, err) < 0) {
		audit_log_close(log);
		return -1;
	}
	*ret = log;
	return 0;
}

static void free_notes(struct list *notes)
{
	LIST_EACH (notes, struct audit_note, n, item) {
		list_remove(&n->item);
		note_free(n);
	}
}

void audit_log_close(struct audit_log *log)
{
	if (!log)
		return;
	pthread_mutex_lock(&log->mutex);
	log->is_closing = true;
	(void)pthread_cond_signal(&log->changed);
	pthread_mutex_unlock(&log->mutex);
	if (log->has_thread)
		(void)pthread_join(log->thread, NULL);
	if (log->counts.queued > 0)
		log_warning("events of the audit wait in the spool for the next start",
		            NUMBER("events", log->counts.queued));
	spool_close(&log->spool);
	free_notes(&log->open);
	free_notes(&log->queue);
	pthread_cond_destroy(&log->changed);
	pthread_mutex_destroy(&log->mutex);
	explicit_bzero(log->seed, sizeof(log->seed));
	map_done(&log->links);
	free(log->node);
	free(log->version);
	free(log);
}

struct audit_counts audit_log_counts(struct audit_log *log)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);

	return log->counts;
}
