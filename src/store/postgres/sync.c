/* SPDX-License-Identifier: Apache-2.0 */
/* A lazy commit is in the server's memory; a later commit that waits brings it to the disk. So a
 * thread with its own connection commits an empty message to the log and waits for it, on behalf of
 * all callers that have asked meanwhile. If the connection is lost, the server may have crashed and
 * lost its memory: then all waiting callers fail. */
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "store/postgres/postgres.h"

/* Failed marks are remembered longer than any caller waits for a mark. */
#define FAILURE_KEPT_MS (10 * 60 * 1000)

static const char flush_text[] = "SELECT pg_logical_emit_message(true, 'atoll', '')";
static const char ping_text[] = "SELECT 1";

struct postgres_sync {
	struct postgres_store *store;
	struct postgres_connection *connection; /* the thread's; NULL after a failure */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t mutex; /* over the rest */
	pthread_cond_t changed;
	uint64_t begun, done; /* the last mark: requested for a flush, flushed */
	uint64_t renewals_wanted, renewals;
	bool is_stopping;
	uint64_t failed_first, failed_last; /* 0: none */
	int64_t failed_at;
	struct error failure; /* of the last */
};

/* On the thread, without the mutex. */
static int execute_text(struct postgres_sync *sync, const char *text, struct error *err)
{
	int result;

	if (!sync->connection && postgres_connect(sync->store, &sync->connection, err) < 0)
		return -1;
	result = postgres_execute(sync->connection, text, err);
	if (result < 0) {
		postgres_disconnect(sync->connection);
		sync->connection = NULL;
	}
	return result;
}

/* With the mutex held. */
static void note_failure(struct postgres_sync *sync, uint64_t mark, const struct error *err)
{
	int64_t now = clock_monotonic_ms();

	if (!sync->failed_last || now - sync->failed_at > FAILURE_KEPT_MS)
		sync->failed_first = sync->done + 1;
	sync->failed_last = mark;
	sync->failed_at = now;
	sync->failure = *err;
}

/* With the mutex held; it is free meanwhile. */
static void flush_begun(struct postgres_sync *sync)
{
	struct error err = {0};
	uint64_t mark = sync->begun;
	int result;

	pthread_mutex_unlock(&sync->mutex);
	result = execute_text(sync, flush_text, &err);
	pthread_mutex_lock(&sync->mutex);
	if (result < 0)
		note_failure(sync, mark, &err);
	sync->done = mark;
	pthread_cond_broadcast(&sync->changed);
}

/* The first attempt closes a lost connection; the second opens a new connection. */
static void renew_connection(struct postgres_sync *sync)
{
	struct error err = {0};
	uint64_t wanted = sync->renewals_wanted;

	pthread_mutex_unlock(&sync->mutex);
	if (execute_text(sync, ping_text, &err) < 0 && execute_text(sync, ping_text, &err) < 0)
		log_debug("the database is away", FAILURE(&err));
	pthread_mutex_lock(&sync->mutex);
	sync->renewals = wanted;
	pthread_cond_broadcast(&sync->changed);
}

static void *run_sync_thread(void *argument)
{
	struct postgres_sync *sync = argument;

	pthread_mutex_lock(&sync->mutex);
	while (!sync->is_stopping) {
		if (sync->begun > sync->done)
			flush_begun(sync);
		else if (sync->renewals_wanted > sync->renewals)
			renew_connection(sync);
		else
			pthread_cond_wait(&sync->changed, &sync->mutex);
	}
	pthread_mutex_unlock(&sync->mutex);
	return NULL;
}

static int start_thread(struct postgres_sync *sync, struct error *err)
{
	errno = thread_start(&sync->thread, NULL, run_sync_thread, sync);
	sync->has_thread = errno == 0;
	return sync->has_thread ? 0 : FAIL_ERRNO(err, "start the thread that flushes");
}

int sync_open(struct postgres_store *s, struct postgres_sync **ret, struct error *err)
{
	struct postgres_sync *sync = memory_new(sizeof(*sync));

	sync->store = s;
	pthread_mutex_init(&sync->mutex, NULL);
	pthread_cond_init(&sync->changed, NULL);
	if (execute_text(sync, ping_text, err) < 0 || start_thread(sync, err) < 0) {
		sync_close(sync);
		return -1;
	}
	*ret = sync;
	return 0;
}

void sync_close(struct postgres_sync *sync)
{
	if (!sync)
		return;
	pthread_mutex_lock(&sync->mutex);
	sync->is_stopping = true;
	pthread_cond_broadcast(&sync->changed);
	pthread_mutex_unlock(&sync->mutex);
	if (sync->has_thread)
		pthread_join(sync->thread, NULL);
	postgres_disconnect(sync->connection);
	pthread_cond_destroy(&sync->changed);
	pthread_mutex_destroy(&sync->mutex);
	free(sync);
}

uint64_t sync_begin(struct postgres_sync *sync)
{
	uint64_t mark;

	pthread_mutex_lock(&sync->mutex);
	mark = ++sync->begun;
	pthread_cond_broadcast(&sync->changed);
	pthread_mutex_unlock(&sync->mutex);
	return mark;
}

int sync_wait(struct postgres_sync *sync, uint64_t mark, struct error *err)
{
	bool failed;

	pthread_mutex_lock(&sync->mutex);
	while (sync->done < mark)
		pthread_cond_wait(&sync->changed, &sync->mutex);
	failed = mark >= sync->failed_first && mark <= sync->failed_last;
	if (failed)
		*err = sync->failure;
	pthread_mutex_unlock(&sync->mutex);
	if (!failed)
		return 0;
	(void)FAIL_CONTEXT(err, "bring the database's last changes to the disk");
	return FAIL_HINT(err, "the database server was away: they may be lost; see what is there");
}

void sync_renew(struct postgres_sync *sync)
{
	uint64_t mine;

	if (!sync)
		return;
	pthread_mutex_lock(&sync->mutex);
	mine = ++sync->renewals_wanted;
	pthread_cond_broadcast(&sync->changed);
	while (sync->renewals < mine)
		pthread_cond_wait(&sync->changed, &sync->mutex);
	pthread_mutex_unlock(&sync->mutex);
}
