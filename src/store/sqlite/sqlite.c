/* SPDX-License-Identifier: Apache-2.0 */
/* A single connection writes, a few read. Writers form groups: a thread that finds no writer leads
 * and runs all queued changes one after the other in a single transaction. A change alone costs no
 * switch of threads. The wait for the disk comes after the commit, while the next group runs. */
#include "store/sqlite/sqlite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/path.h"
#include "store/sqlite/log_sync.h"

#define READERS_MAX 8
#define GROUP_MAX 64

struct queued_change {
	struct queued_change *next;
	const struct transaction *transaction;
	struct error *err;
	int result;
	uint64_t mark; /* log mark to wait for; 0 = none */
	bool leads, is_done;
	pthread_cond_t wake;
};

struct sqlite_store {
	struct store base;
	struct sqlite_place place;
	char *path;
	struct sqlite_connection *writer; /* the leader's */
	struct log_sync *log;             /* NULL in memory */

	pthread_mutex_t queue_mutex; /* over the rest of this block */
	struct queued_change *first, **last;
	bool has_leader;

	pthread_mutex_t readers_mutex; /* over the rest of this block */
	pthread_cond_t reader_idle;
	struct sqlite_connection *idle;
	unsigned readers;
};

/* Runs a change of a group in a savepoint: its failure rolls back only this change. Returns -1 when
 * the group cannot continue, with the reason in `err`. */
static int run_member(struct sqlite_connection *c, struct queued_change *w, struct error *err)
{
	if (sqlite_control(c, CONTROL_SAVE, err) < 0)
		return -1;
	w->result = transaction_run(w->transaction, &c->base, w->err);
	if (w->result < 0 && sqlite3_get_autocommit(c->handle)) {
		/* For example a full disk: SQLite has rolled back everything. */
		*err = *w->err;
		return -1;
	}
	if (w->result < 0 && sqlite_control(c, CONTROL_UNDO, err) < 0)
		return -1;
	return sqlite_control(c, CONTROL_RELEASE, err);
}

static int run_members(struct sqlite_connection *c, struct queued_change *group, struct error *err)
{
	if (sqlite_control(c, CONTROL_BEGIN, err) < 0)
		return -1;
	for (struct queued_change *w = group; w; w = w->next)
		if (run_member(c, w, err) < 0)
			return -1;
	return sqlite_control(c, CONTROL_COMMIT, err);
}

static void roll_back_transaction(struct sqlite_connection *c)
{
	struct error ignored = {0};

	if (!sqlite3_get_autocommit(c->handle))
		(void)!sqlite_control(c, CONTROL_ROLLBACK, &ignored);
}

static void run_group(struct sqlite_connection *c, struct queued_change *group)
{
	struct error err = {0};

	if (run_members(c, group, &err) == 0)
		return;
	roll_back_transaction(c);
	for (struct queued_change *w = group; w; w = w->next) {
		if (w->result == 0)
			*w->err = err;
		w->result = -1;
	}
}

/* Runs a single change without a savepoint; the usual case. */
static void run_alone(struct sqlite_connection *c, struct queued_change *w)
{
	const struct transaction *t = w->transaction;

	if (sqlite_control(c, CONTROL_BEGIN, w->err) < 0 ||
	    transaction_run(t, &c->base, w->err) < 0 ||
	    sqlite_control(c, CONTROL_COMMIT, w->err) < 0) {
		roll_back_transaction(c);
		w->result = -1;
	}
}

static struct queued_change *take_group(struct sqlite_store *s)
{
	struct queued_change *group = s->first, **end = &s->first;

	for (unsigned i = 0; *end && i < GROUP_MAX; i++)
		end = &(*end)->next;
	s->first = *end;
	if (!s->first)
		s->last = &s->first;
	*end = NULL;
	return group;
}

/* A single mark for all durable changes of the group: they share a sync. */
static void mark_group(struct sqlite_store *s, struct queued_change *group)
{
	uint64_t mark = 0;

	for (struct queued_change *w = group; s->log && w; w = w->next) {
		if (w->transaction->is_lazy || w->result < 0)
			continue;
		if (!mark)
			mark = log_sync_mark(s->log);
		w->mark = mark;
	}
}

/* With the queue's mutex held: ends the group and makes the first waiting change the leader. */
static void finish_group(struct sqlite_store *s, struct queued_change *group)
{
	for (struct queued_change *w = group, *next; w; w = next) {
		next = w->next; /* a finished change may be freed at any moment */
		w->is_done = true;
		pthread_cond_signal(&w->wake);
	}
	s->has_leader = s->first != NULL;
	if (s->first) {
		s->first->leads = true;
		pthread_cond_signal(&s->first->wake);
	}
}

static void lead_group(struct sqlite_store *s)
{
	struct queued_change *group = take_group(s);

	pthread_mutex_unlock(&s->queue_mutex);
	if (group->next)
		run_group(s->writer, group);
	else
		run_alone(s->writer, group);
	mark_group(s, group);
	pthread_mutex_lock(&s->queue_mutex);
	finish_group(s, group);
}

static int sqlite_change(struct store *base, const struct transaction *t, struct error *err)
{
	struct sqlite_store *s = CONTAINER_OF(base, struct sqlite_store, base);
	struct queued_change me = {.transaction = t, .err = err};

	pthread_cond_init(&me.wake, NULL);
	pthread_mutex_lock(&s->queue_mutex);
	*s->last = &me;
	s->last = &me.next;
	if (!s->has_leader)
		s->has_leader = me.leads = true;
	while (!me.leads && !me.is_done)
		pthread_cond_wait(&me.wake, &s->queue_mutex);
	if (!me.is_done)
		lead_group(s);
	pthread_mutex_unlock(&s->queue_mutex);
	pthread_cond_destroy(&me.wake);
	if (me.mark)
		return log_sync_wait(s->log, me.mark, err);
	return me.result;
}

static uint64_t sqlite_sync_begin(struct store *base)
{
	struct sqlite_store *s = CONTAINER_OF(base, struct sqlite_store, base);

	return s->log ? log_sync_begin(s->log) : 0;
}

static int sqlite_sync_wait(struct store *base, uint64_t sync, struct error *err)
{
	struct sqlite_store *s = CONTAINER_OF(base, struct sqlite_store, base);

	return s->log ? log_sync_wait(s->log, sync, err) : 0;
}

static int take_reader(struct sqlite_store *s, struct sqlite_connection **ret, struct error *err)
{
	struct sqlite_connection *c;

	pthread_mutex_lock(&s->readers_mutex);
	while (!s->idle && s->readers == READERS_MAX)
		pthread_cond_wait(&s->reader_idle, &s->readers_mutex);
	c = s->idle;
	if (c)
		s->idle = c->next;
	else
		s->readers++;
	pthread_mutex_unlock(&s->readers_mutex);
	if (!c && sqlite_connect(&s->base, &s->place, SQLITE_READER, &c, err) < 0) {
		pthread_mutex_lock(&s->readers_mutex);
		s->readers--;
		pthread_cond_signal(&s->reader_idle);
		pthread_mutex_unlock(&s->readers_mutex);
		return -1;
	}
	*ret = c;
	return 0;
}

static void give_reader(struct sqlite_store *s, struct sqlite_connection *c)
{
	pthread_mutex_lock(&s->readers_mutex);
	c->next = s->idle;
	s->idle = c;
	pthread_cond_signal(&s->reader_idle);
	pthread_mutex_unlock(&s->readers_mutex);
}

/* No transaction: each query of a read sees one state of the file by itself. */
static int sqlite_read(struct store *base, const struct transaction *t, struct error *err)
{
	struct sqlite_store *s = CONTAINER_OF(base, struct sqlite_store, base);
	struct sqlite_connection *c;
	int result;

	/* A database in memory has a single connection. */
	if (s->place.in_memory)
		return sqlite_change(base, t, err);
	if (take_reader(s, &c, err) < 0)
		return -1;
	result = transaction_run(t, &c->base, err);
	give_reader(s, c);
	return result;
}

static int checkpoint_log(struct store_connection *base, UNUSED void *context, struct error *err)
{
	struct sqlite_connection *c = CONTAINER_OF(base, struct sqlite_connection, base);
	int result =
	        sqlite3_wal_checkpoint_v2(c->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);

	/* Busy: a reader still uses an older state; a later checkpoint continues. */
	if (result == SQLITE_OK || result == SQLITE_BUSY)
		return 0;
	return sqlite_fail(c->handle, "checkpoint", err);
}

/* Checkpoints the log on a reader's connection, beside the writer, so commits seldom have to. */
static int sqlite_tidy(struct store *base, struct error *err)
{
	struct sqlite_store *s = CONTAINER_OF(base, struct sqlite_store, base);

	if (s->place.in_memory)
		return 0;
	return sqlite_read(base, &(struct transaction){.run = checkpoint_log}, err);
}

static void sqlite_close_store(struct store *base)
{
	struct sqlite_store *s = CONTAINER_OF(base, struct sqlite_store, base);

	while (s->idle) {
		struct sqlite_connection *c = s->idle;

		s->idle = c->next;
		sqlite_disconnect(c);
	}
	log_sync_close(s->log);
	sqlite_disconnect(s->writer); /* last: closing it checkpoints and removes the log */
	pthread_mutex_destroy(&s->queue_mutex);
	pthread_mutex_destroy(&s->readers_mutex);
	pthread_cond_destroy(&s->reader_idle);
	free(s->path);
	free(s);
}

/* The log is there: migrating has read through it. */
static int open_log(struct sqlite_store *s, struct error *err)
{
	AUTO(buf_done) struct buf path = BUF(PATH_SIZE_MAX);

	if (s->place.in_memory)
		return 0;
	buf_addf(&path, "%s-wal", s->path);
	return log_sync_open(buf_text(&path), &s->log, err);
}

static int sqlite_open_store(const char *place, struct store **ret, struct error *err)
{
	struct sqlite_store *s = memory_new(sizeof(*s));

	s->path = memory_text(place);
	s->place = (struct sqlite_place){s->path, strcmp(place, ":memory:") == 0};
	s->last = &s->first;
	pthread_mutex_init(&s->queue_mutex, NULL);
	pthread_mutex_init(&s->readers_mutex, NULL);
	pthread_cond_init(&s->reader_idle, NULL);
	if (sqlite_connect(&s->base, &s->place, SQLITE_WRITER, &s->writer, err) < 0 ||
	    sqlite_migrate(s->writer, err) < 0 || sqlite_prepare_all(s->writer, err) < 0 ||
	    open_log(s, err) < 0) {
		sqlite_close_store(&s->base);
		return -1;
	}
	*ret = &s->base;
	return 0;
}

const struct store_driver sqlite_driver = {
        .open = sqlite_open_store,
        .close = sqlite_close_store,
        .read = sqlite_read,
        .change = sqlite_change,
        .run = sqlite_run,
        .sync_begin = sqlite_sync_begin,
        .sync_wait = sqlite_sync_wait,
        .tidy = sqlite_tidy,
        .copy = sqlite_copy,
};
