/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "provider/agent_health.h"
#include "provider/agent_links.h"
#include "provider/claims.h"
#include "provider/end.h"
#include "provider/remote/parts.h"

#define LOOK_MS 10000 /* between two rounds, each of which may list the account */
#define CALL_MS 30000
#define RENEW_MS (REMOTE_LEASE_S * INT64_C(1000) / 4)
#define IDLE_MS 15000 /* how long a connection to an agent may wait for its next request */

static bool is_closing(struct remote *r)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	return r->is_closing;
}

/* The list lacked it. It is asked for by its id before anything is concluded. */
static void report_gone(struct remote *r, const char *id)
{
	AUTO(arena_done) struct arena arena = {0};
	struct remote_list found = {0};
	struct error err = {0};

	if (is_closing(r) ||
	    r->kind->list(r, &arena, id, deadline_after(CALL_MS), &found, &err) < 0 ||
	    found.count > 0 || !remote_record_remove(r, id))
		return;
	remote_tunnels_end(r, id);
	agent_links_drop(r->links, id);
	agent_health_forget(id);
	if (r->options.on_ended)
		r->options.on_ended(r->options.context, id,
		                    &(struct provider_end){SANDBOX_REASON_EXIT, UINT64_MAX});
}

/* Its files are kept. */
static void report_ended(struct remote *r, const struct remote_sandbox *s)
{
	enum sandbox_reason reason = s->ended ? s->ended : SANDBOX_REASON_EXIT;

	if (is_closing(r))
		return;
	remote_tunnels_end(r, s->id);
	agent_links_drop(r->links, s->id);
	agent_health_forget(s->id);
	if (r->options.on_ended)
		r->options.on_ended(r->options.context, s->id,
		                    &(struct provider_end){reason, UINT64_MAX});
}

/* Owner and epoch of a later start are in a file, and whether it is only paused. */
void remote_claims_read(struct remote *r, struct remote_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct remote_sandbox *s = &list->items[i];
		struct provider_entry entry = {.lease_epoch = s->lease_epoch};

		memcpy(entry.id, s->id, sizeof(entry.id));
		memcpy(entry.owner, s->owner, sizeof(entry.owner));
		if (provider_claim_read(r->claims_dir, &entry) && s->state == REMOTE_PAUSED)
			s->state = REMOTE_STOPPED;
		memcpy(s->owner, entry.owner, sizeof(s->owner));
		s->lease_epoch = entry.lease_epoch;
		remote_access_read(r, s);
	}
}

int remote_refresh(struct remote *r, struct arena *a, int64_t deadline, struct remote_list *ret,
                   struct error *err)
{
	static const struct remote_changes changes = {report_gone, report_ended};
	int64_t began_ms = clock_monotonic_ms();

	if (r->kind->list(r, a, NULL, deadline, ret, err) < 0)
		return -1;
	remote_claims_read(r, ret);
	remote_records_refresh(r, ret, began_ms, &changes);
	return 0;
}

static void note_usages(struct remote *r)
{
	AUTO(arena_done) struct arena arena = {0};
	struct remote_list running;
	struct error err = {0};

	if (!r->kind->usage)
		return;
	remote_records_copy(r, &arena, REMOTE_RUNNING, &running);
	struct remote_usage *usages = ARENA_ARRAY(&arena, struct remote_usage, running.count + 1);
	memset(usages, 0, sizeof(*usages) * (running.count + 1));
	if (running.count == 0)
		return;
	if (r->kind->usage(r, running.items, running.count, deadline_after(CALL_MS), usages, &err) <
	    0) {
		log_debug("figures of remote sandboxes are not known", TEXT("provider", r->name),
		          FAILURE(&err));
		return;
	}
	for (size_t i = 0; i < running.count; i++)
		if (usages[i].sampled_unix_ms > 0)
			remote_record_note_usage(r, running.items[i].id, &usages[i]);
}

/* A sandbox whose lease is not renewed is paused by the service, with its memory, or removed. */
static void renew_leases(struct remote *r, enum remote_state state)
{
	AUTO(arena_done) struct arena arena = {0};
	struct remote_list running;

	remote_records_copy(r, &arena, state, &running);
	for (size_t i = 0; i < running.count && !is_closing(r); i++) {
		struct error err = {0};

		if (r->kind->renew(r, &running.items[i], deadline_after(CALL_MS), &err) < 0)
			log_warning("a remote sandbox's lease is not renewed",
			            TEXT("sandbox", running.items[i].id), FAILURE(&err));
	}
}

static void find_one_access(struct remote *r, const char *id)
{
	int64_t deadline = deadline_after(CALL_MS);
	struct remote_sandbox s;
	struct error err = {0};

	if (remote_record_hold(r, id, deadline, &err) < 0)
		return;
	if (remote_record_find(r, id, &s, &err) == 0 && s.state == REMOTE_RUNNING &&
	    r->kind->resume(r, &s, deadline, &err) == 0) {
		remote_record_put(r, &s);
		(void)!remote_access_write(r, &s, &err);
	}
	remote_record_release(r, id);
}

/* Their files were lost, as with a restored data folder. */
static void find_access(struct remote *r)
{
	AUTO(arena_done) struct arena arena = {0};
	struct remote_list running;

	remote_records_copy(r, &arena, REMOTE_RUNNING, &running);
	for (size_t i = 0; i < running.count && !is_closing(r); i++)
		if (!running.items[i].has_access)
			find_one_access(r, running.items[i].id);
}

static void look_at_account(struct remote *r, bool *was_silent)
{
	AUTO(arena_done) struct arena arena = {0};
	struct remote_list list;
	struct error err = {0};

	if (remote_refresh(r, &arena, deadline_after(CALL_MS), &list, &err) < 0) {
		if (!*was_silent && !is_closing(r))
			log_warning("a remote account does not list its sandboxes",
			            TEXT("provider", r->name), FAILURE(&err));
		*was_silent = true;
		return;
	}
	*was_silent = false;
	find_access(r);
	note_usages(r);
}

/* Whether a list was asked for. */
static bool take_look(struct remote *r)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	bool looks = r->looks_now;

	r->looks_now = false;
	return looks;
}

static void *run_watch(void *argument)
{
	struct remote *r = argument;
	int64_t renew_at = deadline_after(RENEW_MS), look_at = 0;
	bool was_silent = false;

	while (!is_closing(r)) {
		if (take_look(r) || was_silent || clock_monotonic_ms() >= look_at) {
			look_at_account(r, &was_silent);
			look_at = deadline_after(r->kind->look_ms);
		}
		if (clock_monotonic_ms() >= renew_at) {
			renew_leases(r, REMOTE_RUNNING);
			if (r->kind->renews_stopped)
				renew_leases(r, REMOTE_STOPPED);
			renew_at = deadline_after(RENEW_MS);
		}
		agent_links_sweep(r->links, IDLE_MS);
		AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
		int64_t next = deadline_after(LOOK_MS);
		while (!r->is_closing && !r->looks_now && clock_monotonic_ms() < next)
			thread_wait(&r->wake, &r->mutex, next);
	}
	return NULL;
}

int remote_watch_open(struct remote *r, struct error *err)
{
	errno = thread_start(&r->thread, NULL, run_watch, r);
	if (errno)
		return FAIL_ERRNO(err, "start a thread");
	r->has_thread = true;
	return 0;
}

void remote_watch_wake(struct remote *r)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	r->looks_now = true;
	pthread_cond_broadcast(&r->wake);
}

void remote_watch_close(struct remote *r)
{
	pthread_mutex_lock(&r->mutex);
	r->is_closing = true;
	pthread_cond_broadcast(&r->wake);
	pthread_mutex_unlock(&r->mutex);
	if (r->has_thread)
		pthread_join(r->thread, NULL);
}
