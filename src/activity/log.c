/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of ended notes, and the thread that writes them. */
#include <pthread.h>
#include <stdlib.h>

#include "activity/note.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/thread.h"
#include "store/database.h"
#include "store/events.h"

#define AGAIN_MS 1000 /* after a failed write */
#define CLOSE_MS 5000 /* for the last writes */
/* Sandboxes whose rows are counted between two trims; then all are counted anew. */
#define COUNTED_MAX 4096
/* A sandbox is trimmed once for this part of its rows, so it has up to this part more. */
#define TRIM_PART 8

struct row_counter {
	int64_t count;
};

struct activity_log {
	struct store *store;
	int64_t sandbox_rows_max, interval_ms;
	size_t queue_max;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t mutex; /* guards the rest of this block */
	pthread_cond_t changed;
	struct list queue; /* oldest first */
	size_t queued;
	uint64_t written, dropped;
	bool is_closing;

	pthread_mutex_t watch_mutex; /* guards the watcher, also while it is called */
	const struct event_watcher *watcher;

	/* of the thread */
	struct map counters; /* id of a sandbox -> struct row_counter */
	uint64_t dropped_told;
	int64_t close_at; /* monotonic; 0 = not closing */
};

/* With the mutex held. */
static void drop_oldest(struct activity_log *log)
{
	struct activity_note *n = LIST_ENTRY(log->queue.next, struct activity_note, item);

	activity_forget(n);
	log->queued--;
	log->dropped++;
}

void log_add(struct activity_log *log, struct activity_note *n)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);

	list_append(&log->queue, &n->item);
	log->queued++;
	if (log->queued > log->queue_max)
		drop_oldest(log);
	/* The thread sleeps until the first note, and then for an interval or a full batch. */
	if (log->queued == 1 || log->queued == ACTIVITY_BATCH_MAX)
		(void)pthread_cond_signal(&log->changed);
}

struct batch {
	struct activity_note *notes[ACTIVITY_BATCH_MAX];
	const struct activity_record *rows[ACTIVITY_BATCH_MAX];
	size_t count;
};

/* Waits for a batch. False at the end: the log is closing and has no notes. */
static bool take_batch(struct activity_log *log, struct batch *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);
	int64_t until;

	while (log->queued == 0 && !log->is_closing)
		thread_wait(&log->changed, &log->mutex, DEADLINE_NEVER);
	until = deadline_after(log->interval_ms);
	while (log->queued < ACTIVITY_BATCH_MAX && !log->is_closing && deadline_poll_ms(until) > 0)
		thread_wait(&log->changed, &log->mutex, until);
	if (log->is_closing && log->close_at == 0)
		log->close_at = deadline_after(CLOSE_MS);
	ret->count = 0;
	while (log->queued > 0 && ret->count < ACTIVITY_BATCH_MAX) {
		struct activity_note *n = LIST_ENTRY(log->queue.next, struct activity_note, item);

		list_remove(&n->item);
		log->queued--;
		ret->notes[ret->count++] = n;
	}
	return ret->count > 0;
}

/* Puts the notes from `from` on back, before the younger ones, and pauses. */
static void put_notes_back(struct activity_log *log, const struct batch *b, size_t from)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);
	int64_t until = deadline_after(AGAIN_MS);

	for (size_t i = b->count; i > from; i--) {
		list_insert_after(&log->queue, &b->notes[i - 1]->item);
		log->queued++;
	}
	while (log->queued > log->queue_max)
		drop_oldest(log);
	while (!log->is_closing && deadline_poll_ms(until) > 0)
		thread_wait(&log->changed, &log->mutex, until);
}

static void count_written(struct activity_log *log, uint64_t written, uint64_t dropped)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);

	log->written += written;
	log->dropped += dropped;
}

static void trim_sandbox(struct activity_log *log, const char *sandbox_id)
{
	struct row_counter *counter = map_find(&log->counters, sandbox_id);
	struct error err = {0};

	if (!counter) {
		if (log->counters.count >= COUNTED_MAX)
			map_free_values(&log->counters);
		counter = memory_new(sizeof(*counter));
		map_put(&log->counters, sandbox_id, counter);
	}
	if (++counter->count <= log->sandbox_rows_max / TRIM_PART)
		return;
	counter->count = 0;
	if (store_activity_trim(log->store, sandbox_id, log->sandbox_rows_max, &err) < 0)
		log_warning("old activity is not dropped yet", TEXT("sandbox", sandbox_id),
		            FAILURE(&err));
}

static void finish_notes(struct activity_log *log, const struct batch *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		trim_sandbox(log, b->notes[i]->record.sandbox_id);
		activity_forget(b->notes[i]);
	}
}

/* Rows that the store refuses one by one are dropped, so that they hold up no other. Returns how
 * many notes are done. */
static size_t write_singly(struct activity_log *log, const struct batch *b)
{
	struct error err = {0};

	for (size_t i = 0; i < b->count; i++) {
		const struct activity_batch row = {&b->rows[i], 1};

		if (store_activity_add(log->store, &row, &err) == 0) {
			count_written(log, 1, 0);
			continue;
		}
		if (store_ping(log->store, &(struct error){0}) < 0)
			return i;
		log_warning("a row of activity is refused", TEXT("sandbox", b->rows[i]->sandbox_id),
		            FAILURE(&err));
		error_clear(&err);
		count_written(log, 0, 1);
	}
	return b->count;
}

/* Returns how many notes are done. */
static size_t write_batch(struct activity_log *log, struct batch *b)
{
	const struct activity_batch rows = {b->rows, b->count};
	int64_t now = clock_unix_ms();
	struct error err = {0};

	for (size_t i = 0; i < b->count; i++) {
		note_settle(b->notes[i]);
		b->notes[i]->record.written_at = now;
		b->rows[i] = &b->notes[i]->record;
	}
	if (store_activity_add(log->store, &rows, &err) == 0) {
		count_written(log, b->count, 0);
		return b->count;
	}
	log_warning("activity is not written yet", NUMBER("rows", b->count), FAILURE(&err));
	return store_ping(log->store, &err) < 0 ? 0 : write_singly(log, b);
}

static void tell_watcher(struct activity_log *log)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->watch_mutex);

	if (log->watcher)
		log->watcher->on_events(log->watcher->context);
}

static void tell_drops(struct activity_log *log)
{
	uint64_t dropped = activity_log_counts(log).dropped;

	if (dropped == log->dropped_told)
		return;
	log_warning("activity was dropped, because the store is slower than the calls",
	            NUMBER("rows", dropped - log->dropped_told));
	log->dropped_told = dropped;
}

static void *run_log(void *context)
{
	struct activity_log *log = context;
	struct batch b;

	while (take_batch(log, &b)) {
		size_t done = write_batch(log, &b);

		finish_notes(log, &b, done);
		if (done > 0)
			tell_watcher(log);
		if (done < b.count)
			put_notes_back(log, &b, done);
		tell_drops(log);
		if (done < b.count && log->close_at && deadline_poll_ms(log->close_at) == 0)
			break;
	}
	return NULL;
}

int activity_log_open(const struct activity_log_options *options, struct activity_log **ret,
                      struct error *err)
{
	struct activity_log *log = memory_new(sizeof(*log));
	int failure;

	*log = (struct activity_log){
	        .store = options->store,
	        .sandbox_rows_max = options->sandbox_rows_max,
	        .queue_max = options->queue_max ? options->queue_max : ACTIVITY_QUEUE_MAX,
	        .interval_ms = options->interval_ms ? options->interval_ms : ACTIVITY_INTERVAL_MS,
	};
	list_init(&log->queue);
	pthread_mutex_init(&log->mutex, NULL);
	pthread_mutex_init(&log->watch_mutex, NULL);
	thread_condition_init(&log->changed);
	failure = thread_start(&log->thread, NULL, run_log, log);
	log->has_thread = failure == 0;
	if (failure != 0) {
		activity_log_close(log);
		return FAIL(err, ERROR_SYSTEM, "start the thread of the activity log: error %d",
		            failure);
	}
	*ret = log;
	return 0;
}

static void stop_thread(struct activity_log *log)
{
	pthread_mutex_lock(&log->mutex);
	log->is_closing = true;
	(void)pthread_cond_signal(&log->changed);
	pthread_mutex_unlock(&log->mutex);
	if (log->has_thread)
		(void)pthread_join(log->thread, NULL);
}

void activity_log_close(struct activity_log *log)
{
	if (!log)
		return;
	stop_thread(log);
	if (log->queued > 0)
		log_warning("activity is lost: the store did not take it in time",
		            NUMBER("rows", log->queued));
	while (log->queued > 0)
		drop_oldest(log);
	map_free_values(&log->counters);
	pthread_cond_destroy(&log->changed);
	pthread_mutex_destroy(&log->mutex);
	pthread_mutex_destroy(&log->watch_mutex);
	free(log);
}

struct activity_counts activity_log_counts(struct activity_log *log)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);

	return (struct activity_counts){log->written, log->dropped, log->queued};
}

void activity_log_watch(struct activity_log *log, const struct event_watcher *watcher)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->watch_mutex);

	log->watcher = watcher;
}
