/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "provider/claims.h"
#include "provider/remote/parts.h"

struct remote_record {
	struct remote_sandbox sandbox;
	bool is_held;
	int64_t changed_ms; /* by a call; monotonic */
	struct remote_usage usage;
	double cpu_us; /* used since this server knows it */
};

/* Called with the mutex held. */
static struct remote_record *find_record(struct remote *r, const char *id)
{
	return map_find(&r->sandboxes, id);
}

/* Called with the mutex held. */
static struct remote_record *make_record(struct remote *r, const char *id)
{
	struct remote_record *record = find_record(r, id);

	if (record)
		return record;
	record = memory_new(sizeof(*record));
	(void)snprintf(record->sandbox.id, sizeof(record->sandbox.id), "%s", id);
	(void)map_put(&r->sandboxes, record->sandbox.id, record);
	return record;
}

int remote_record_find(struct remote *r, const char *id, struct remote_sandbox *ret,
                       struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	const struct remote_record *record = find_record(r, id);

	if (record && record->sandbox.remote_id[0]) {
		*ret = record->sandbox;
		return 0;
	}
	if (!r->is_listed)
		return FAIL(err, ERROR_UNAVAILABLE,
		            "the sandboxes of provider '%s' are not known yet", r->name);
	return FAIL_MISSING(err, "sandbox", id);
}

bool remote_record_exists(struct remote *r, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	const struct remote_record *record = find_record(r, id);

	return record && record->sandbox.remote_id[0];
}

bool remote_record_is_known(struct remote *r, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	return find_record(r, id) != NULL;
}

void remote_record_put(struct remote *r, const struct remote_sandbox *s)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	struct remote_record *record = make_record(r, s->id);

	record->sandbox = *s;
	record->changed_ms = clock_monotonic_ms();
}

/* Called with the mutex held. A held one stays, without a sandbox. */
static void drop_record(struct remote *r, struct remote_record *record)
{
	if (record->is_held) {
		record->sandbox.remote_id[0] = '\0';
		record->changed_ms = clock_monotonic_ms();
		return;
	}
	(void)map_remove(&r->sandboxes, record->sandbox.id);
	free(record);
}

bool remote_record_remove(struct remote *r, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	struct remote_record *record = find_record(r, id);
	bool was_there = record && record->sandbox.remote_id[0];

	if (record)
		drop_record(r, record);
	return was_there;
}

int remote_record_hold(struct remote *r, const char *id, int64_t deadline, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	struct remote_record *record;

	/* A record that was released may be gone. */
	while ((record = make_record(r, id))->is_held) {
		if (deadline_poll_ms(deadline) == 0)
			return FAIL(err, ERROR_TIMEOUT, "another call changes sandbox '%s'", id);
		thread_wait(&r->wake, &r->mutex, deadline);
	}
	record->is_held = true;
	record->changed_ms = clock_monotonic_ms();
	return 0;
}

void remote_record_release(struct remote *r, const char *id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	struct remote_record *record = make_record(r, id);

	record->is_held = false;
	record->changed_ms = clock_monotonic_ms();
	if (!record->sandbox.remote_id[0])
		drop_record(r, record);
	pthread_cond_broadcast(&r->wake);
}

/* Called with the mutex held. What only a call tells stays. */
static void take_item(struct remote *r, const struct remote_sandbox *item, int64_t began_ms)
{
	struct remote_record *record = make_record(r, item->id);
	struct remote_sandbox *s = &record->sandbox;

	if (record->is_held || record->changed_ms >= began_ms)
		return;
	if (strcmp(s->remote_id, item->remote_id) != 0) {
		*s = *item;
		record->usage = (struct remote_usage){0};
		return;
	}
	/* The service has paused it by itself: watch.c resumes what has no access. */
	if (s->state == REMOTE_RUNNING && item->state == REMOTE_PAUSED)
		s->has_access = false;
	else
		s->state = item->state;
	s->started_unix_ms = item->started_unix_ms;
	s->cpu = item->cpu;
	s->memory_mb = item->memory_mb;
	s->disk_mb = item->disk_mb;
	memcpy(s->region, item->region, sizeof(s->region));
}

static bool is_listed_there(const struct remote_list *list, const char *id)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].id, id) == 0)
			return true;
	return false;
}

/* Those that run here, and have ended in the list. Called with the mutex held, before take_item. */
static size_t find_ended(struct remote *r, struct arena *a, const struct remote_list *list,
                         int64_t began_ms, struct remote_sandbox **ret)
{
	size_t count = 0;

	*ret = ARENA_ARRAY(a, struct remote_sandbox, list->count + 1);
	for (size_t i = 0; i < list->count; i++) {
		const struct remote_record *record = find_record(r, list->items[i].id);

		if (record && !record->is_held && record->changed_ms < began_ms &&
		    record->sandbox.state == REMOTE_RUNNING &&
		    list->items[i].state == REMOTE_STOPPED)
			(*ret)[count++] = list->items[i];
	}
	return count;
}

/* The ids of records that the list lacks. Called with the mutex held. */
static size_t find_gone(struct remote *r, struct arena *a, const struct remote_list *list,
                        int64_t began_ms, const char ***ret)
{
	const char **ids = ARENA_ARRAY(a, const char *, r->sandboxes.count + 1), *id;
	size_t at = 0, count = 0;

	for (const struct remote_record *record; (record = map_next(&r->sandboxes, &at, &id));)
		if (!record->is_held && record->changed_ms < began_ms && !is_listed_there(list, id))
			ids[count++] = arena_text(a, id);
	*ret = ids;
	return count;
}

void remote_records_refresh(struct remote *r, const struct remote_list *list, int64_t began_ms,
                            const struct remote_changes *changes)
{
	AUTO(arena_done) struct arena arena = {0};
	struct remote_sandbox *ended;
	const char **gone;
	size_t count, ended_count;

	pthread_mutex_lock(&r->mutex);
	ended_count = find_ended(r, &arena, list, began_ms, &ended);
	for (size_t i = 0; i < list->count; i++)
		take_item(r, &list->items[i], began_ms);
	r->is_listed = true;
	count = find_gone(r, &arena, list, began_ms, &gone);
	pthread_mutex_unlock(&r->mutex);
	for (size_t i = 0; i < count; i++)
		changes->each_gone(r, gone[i]);
	for (size_t i = 0; i < ended_count; i++)
		changes->each_ended(r, &ended[i]);
}

void remote_records_copy(struct remote *r, struct arena *a, enum remote_state state,
                         struct remote_list *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	const char *id;
	size_t at = 0;

	*ret = (struct remote_list){
	        .items = ARENA_ARRAY(a, struct remote_sandbox, r->sandboxes.count + 1)};
	for (const struct remote_record *record; (record = map_next(&r->sandboxes, &at, &id));)
		if (!record->is_held && record->sandbox.remote_id[0] &&
		    record->sandbox.state == state)
			ret->items[ret->count++] = record->sandbox;
}

void remote_record_note_usage(struct remote *r, const char *id, const struct remote_usage *u)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	struct remote_record *record = find_record(r, id);

	if (!record || u->sampled_unix_ms <= record->usage.sampled_unix_ms)
		return;
	if (record->usage.sampled_unix_ms > 0)
		record->cpu_us += u->cpu_used * 1000.0 *
		                  (double)(u->sampled_unix_ms - record->usage.sampled_unix_ms);
	record->usage = *u;
}

bool remote_record_usage(struct remote *r, const char *id, struct provider_stats *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	const struct remote_record *record = find_record(r, id);

	if (!record || !record->sandbox.remote_id[0])
		return false;
	const struct remote_sandbox *s = &record->sandbox;
	int64_t now = clock_unix_ms(), up_ms = now - s->started_unix_ms;

	*ret = (struct provider_stats){
	        .sampled_unix_ms =
	                record->usage.sampled_unix_ms ? record->usage.sampled_unix_ms : now,
	        .uptime_ms =
	                s->state == REMOTE_RUNNING && s->started_unix_ms && up_ms > 0 ? up_ms : 0,
	        .cpu_usage_us = (uint64_t)record->cpu_us,
	        .memory_bytes = record->usage.memory_bytes,
	        .memory_limit_bytes = (uint64_t)s->memory_mb << 20,
	        .disk_bytes = record->usage.sampled_unix_ms ? record->usage.disk_bytes : UINT64_MAX,
	        .disk_limit_bytes = (uint64_t)s->disk_mb << 20,
	};
	return true;
}

void remote_records_done(struct remote *r)
{
	map_free_values(&r->sandboxes);
}
