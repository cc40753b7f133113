/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that lists the pods of this server once, and watches them from then on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "http/client/async.h"
#include "json/json.h"
#include "provider/kubernetes/kubernetes.h"

#define LIST_MS 30000
#define WATCH_S 240 /* the API server ends a watch then, and a new one goes on */
#define WATCH_SPARE_MS 20000
#define PAUSE_MS 200 /* before a watch that follows a failed one; doubles */
#define PAUSE_MAX_MS 5000
#define LINE_MAX_BYTES ((size_t)2 << 20) /* of an event */
#define SCHEDULE_MS 15000                /* how long a create waits for a node */
#define STUCK_MS 4000                    /* how long it waits for a container that cannot start */
#define GONE_STATUS 410

static bool is_closing(struct kubernetes *k)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);

	return k->is_closing;
}

/* Called with the mutex held. */
static void put_pod(struct kubernetes *k, const struct pod_state *pod)
{
	struct pod_state *copy = map_find(&k->pods, pod->name);

	if (!copy) {
		copy = memory_new(sizeof(*copy));
		(void)map_put(&k->pods, pod->name, copy);
	}
	*copy = *pod;
	pthread_cond_broadcast(&k->changed);
}

/* Called with the mutex held. */
static void drop_pod(struct kubernetes *k, const char *name)
{
	free(map_remove(&k->pods, name));
	LIST_EACH (&k->waits, struct pod_wait, wait, item)
		wait->is_gone |= strcmp(wait->name, name) == 0;
	pthread_cond_broadcast(&k->changed);
}

void kubernetes_note_pod(struct remote *r, const struct pod_state *pod)
{
	struct kubernetes *k = as_kubernetes(r);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);

	if (!map_find(&k->pods, pod->name))
		put_pod(k, pod);
}

void kubernetes_wait_begin(struct remote *r, struct pod_wait *wait, const char *name)
{
	struct kubernetes *k = as_kubernetes(r);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);

	*wait = (struct pod_wait){.name = name};
	list_init(&wait->item);
	list_append(&k->waits, &wait->item);
}

void kubernetes_wait_end(struct remote *r, struct pod_wait *wait)
{
	struct kubernetes *k = as_kubernetes(r);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);

	list_remove(&wait->item);
}

void kubernetes_wait_made(struct remote *r, struct pod_wait *wait, const struct pod_state *pod)
{
	struct kubernetes *k = as_kubernetes(r);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);

	wait->made_ms = clock_monotonic_ms();
	if (!wait->is_gone && !map_find(&k->pods, pod->name))
		put_pod(k, pod);
}

static void take_version(struct kubernetes *k, const struct json_value *object)
{
	const char *version = json_get_text(json_get(object, "metadata"), "resourceVersion", "");

	if (*version && strlen(version) < sizeof(k->version))
		(void)snprintf(k->version, sizeof(k->version), "%s", version);
}

/* The pod of a sandbox that another server on the store has made, and that this server may have to
 * serve when the other one is gone. */
static bool is_pod_of_another(struct remote *r, const struct pod_state *pod)
{
	return pod->phase == POD_RUNNING && !pod->is_leaving && pod->sandbox[0] &&
	       !remote_record_is_known(r, pod->sandbox);
}

/* True: the list of sandboxes is wanted, because one has ended by itself or was made elsewhere. */
static bool take_event(struct remote *r, const char *type, const struct json_value *object)
{
	struct kubernetes *k = as_kubernetes(r);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	struct pod_state pod;

	if (strcmp(type, "ERROR") == 0) {
		k->wants_list = json_get_whole(object, "code", GONE_STATUS) == GONE_STATUS;
		return false;
	}
	take_version(k, object);
	if (strcmp(type, "BOOKMARK") == 0 || !kubernetes_read_pod(object, &pod))
		return false;
	if (strcmp(type, "DELETED") == 0) {
		kubernetes_note_ended(k, &pod);
		drop_pod(k, pod.name);
		return true;
	}
	put_pod(k, &pod);
	return pod.phase == POD_ENDED || is_pod_of_another(r, &pod);
}

static void take_line(struct remote *r, struct span line)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *event;
	struct error ignored;

	if (json_load(&arena, line, &event, &ignored) == 0 &&
	    take_event(r, json_get_text(event, "type", ""), json_get(event, "object")))
		remote_watch_wake(r);
}

/* On the loop's thread. */
static bool on_piece(void *context, struct span piece)
{
	struct remote *r = context;
	struct kubernetes *k = as_kubernetes(r);

	while (piece.size > 0) {
		const char *end = memchr(piece.data, '\n', piece.size);
		size_t size = end ? (size_t)(end - piece.data) : piece.size;

		buf_add(&k->line, piece.data, size);
		span_skip(&piece, size + (end != NULL));
		if (k->line.overflowed)
			return false;
		if (!end)
			break;
		take_line(r, buf_span(&k->line));
		buf_reset(&k->line);
	}
	return true;
}

static void on_watch_end(void *context, struct http_async_answer *answer,
                         UNUSED const struct error *err)
{
	struct kubernetes *k = as_kubernetes(context);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);

	k->watch_has_ended = true;
	if (answer && answer->status == GONE_STATUS)
		k->wants_list = true;
	k->watch_has_failed = !answer || answer->status != 200;
	pthread_cond_broadcast(&k->changed);
}

static const char *pods_path(const struct remote *r, struct arena *a, const char *more)
{
	return arena_format(a, "/api/v1/namespaces/%s/pods?labelSelector=" LABEL_SERVER "%%3D%s%s",
	                    as_kubernetes(r)->access.namespace, r->server, more);
}

/* Called with the mutex held. What a call has noted since then comes again with the watch. */
static void replace_pods(struct kubernetes *k, const struct json_value *list, int64_t began_ms)
{
	const struct json_value *items = json_get(list, "items");
	struct map before = k->pods;
	const char *name;
	size_t at = 0;

	k->pods = (struct map){0};
	for (size_t i = 0; i < json_count(items); i++) {
		struct pod_state pod;

		if (kubernetes_read_pod(json_item_at(items, i), &pod))
			put_pod(k, &pod);
	}
	for (struct pod_state *was; (was = map_next(&before, &at, &name));) {
		const struct pod_state *is = map_find(&k->pods, name);

		if (!is || strcmp(is->uid, was->uid) != 0)
			kubernetes_note_ended(k, was);
		free(was);
	}
	map_done(&before);
	LIST_EACH (&k->waits, struct pod_wait, wait, item)
		wait->is_gone |= wait->made_ms && wait->made_ms < began_ms &&
		                 !map_find(&k->pods, wait->name);
	take_version(k, list);
	k->is_listed = true;
	k->wants_list = false;
	k->lists++;
	pthread_cond_broadcast(&k->changed);
}

/* One whole answer: a list in pages would have to begin again when it is too old. */
static int list_pods(struct remote *r, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct kubernetes *k = as_kubernetes(r);
	const struct remote_call call = {.method = "GET",
	                                 .path = pods_path(r, &arena, ""),
	                                 .answer_max = KUBERNETES_LIST_MAX,
	                                 .deadline = deadline_after(LIST_MS)};
	const struct json_value *list;
	int64_t began_ms = clock_monotonic_ms();

	if (remote_call_load(r, &call, &arena, &list, err) < 0)
		return -1;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	replace_pods(k, list, began_ms);
	return 0;
}

static void begin_watch(struct remote *r)
{
	AUTO(arena_done) struct arena arena = {0};
	struct kubernetes *k = as_kubernetes(r);
	const char *more, *const headers[] = {remote_credential_line(r, &arena), NULL};

	pthread_mutex_lock(&k->mutex);
	more = arena_format(&arena,
	                    "&watch=true&allowWatchBookmarks=true&timeoutSeconds=%d"
	                    "&resourceVersion=%s",
	                    WATCH_S, k->version);
	k->watch_has_ended = false;
	k->watches++;
	buf_reset(&k->line);
	pthread_mutex_unlock(&k->mutex);
	const struct http_async_call call = {
	        .method = "GET",
	        .url = arena_format(&arena, "%s%s", r->api_url, pods_path(r, &arena, more)),
	        .headers = headers[0] ? headers : NULL,
	        .timeout_ms = WATCH_S * INT64_C(1000) + WATCH_SPARE_MS,
	        .on_piece = on_piece};
	http_async_call(r->http, &call, on_watch_end, r);
}

/* Returns whether it ended well. */
static bool run_watch(struct remote *r)
{
	struct kubernetes *k = as_kubernetes(r);

	begin_watch(r);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	while (!k->watch_has_ended && !k->is_closing && !k->wants_list)
		thread_wait(&k->changed, &k->mutex, DEADLINE_NEVER);
	/* What a watch has to tell after it is too old is of no use: its end comes with it. */
	while (!k->watch_has_ended && !k->is_closing)
		thread_wait(&k->changed, &k->mutex, DEADLINE_NEVER);
	return !k->watch_has_failed;
}

void kubernetes_follow_pause(struct kubernetes *k, int64_t ms)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	int64_t until = deadline_after(ms);

	while (!k->is_closing && clock_monotonic_ms() < until)
		thread_wait(&k->changed, &k->mutex, until);
}

static bool needs_list(struct kubernetes *k)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);

	return !k->is_listed || k->wants_list;
}

/* Returns whether it succeeded. */
static bool follow_once(struct remote *r)
{
	struct kubernetes *k = as_kubernetes(r);
	struct error err = {0};

	/* It may have been installed, or this server may have lost the right to use it. */
	if (kubernetes_find_sandbox_kind(r, deadline_after(LIST_MS), &err) < 0)
		error_clear(&err);
	if (!needs_list(k)) {
		bool is_well = run_watch(r);

		if (is_well && !is_closing(k))
			kubernetes_sweep(r);
		return is_well;
	}
	if (list_pods(r, &err) < 0) {
		log_debug("the pods of a cluster are not listed", TEXT("provider", r->name),
		          FAILURE(&err));
		return false;
	}
	/* Events were missed. */
	remote_watch_wake(r);
	return true;
}

static void *run_follow(void *argument)
{
	struct remote *r = argument;
	struct kubernetes *k = as_kubernetes(r);
	int64_t pause_ms = PAUSE_MS;

	while (!is_closing(k)) {
		if (follow_once(r)) {
			pause_ms = PAUSE_MS;
			continue;
		}
		kubernetes_follow_pause(k, pause_ms);
		pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
	}
	return NULL;
}

int kubernetes_follow_open(struct remote *r, struct error *err)
{
	struct kubernetes *k = as_kubernetes(r);

	k->line = BUF(LINE_MAX_BYTES);
	errno = thread_start(&k->thread, NULL, run_follow, r);
	if (errno)
		return FAIL_ERRNO(err, "start a thread");
	k->has_thread = true;
	return 0;
}

void kubernetes_follow_finish(struct remote *r)
{
	struct kubernetes *k = as_kubernetes(r);

	if (!k)
		return;
	pthread_mutex_lock(&k->mutex);
	k->is_closing = true;
	pthread_cond_broadcast(&k->changed);
	pthread_mutex_unlock(&k->mutex);
	if (k->has_thread)
		pthread_join(k->thread, NULL);
	k->has_thread = false;
}

static int fail_pod(const struct remote *r, const struct pod_state *pod, struct error *err)
{
	const char *why = pod->is_leaving ? "it is being deleted" : "the cluster does not say why";

	return FAIL(err, ERROR_UNAVAILABLE, "provider '%s': pod '%s' does not start: %s", r->name,
	            pod->name, *pod->problem ? pod->problem : why);
}

/* When no more waiting helps. */
static int64_t find_patience(const struct pod_state *pod)
{
	if (!pod->is_stuck && !pod->lacks_node)
		return DEADLINE_NEVER;
	return clock_monotonic_ms() + (pod->is_stuck ? STUCK_MS : SCHEDULE_MS);
}

int kubernetes_await_running(struct remote *r, const struct pod_wait *wait, int64_t deadline,
                             struct error *err)
{
	struct kubernetes *k = as_kubernetes(r);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	int64_t give_up = DEADLINE_NEVER;
	struct pod_state last = {.phase = POD_PENDING};

	(void)snprintf(last.name, sizeof(last.name), "%s", wait->name);
	for (;;) {
		const struct pod_state *pod = map_find(&k->pods, wait->name);
		int64_t patience, now = clock_monotonic_ms();

		if (pod)
			last = *pod;
		if (wait->is_gone)
			return FAIL(err, ERROR_UNAVAILABLE,
			            "provider '%s': pod '%s' was deleted while it started", r->name,
			            wait->name);
		if (last.phase == POD_RUNNING && !last.is_leaving)
			return 0;
		patience = find_patience(&last);
		give_up = patience == DEADLINE_NEVER || patience < give_up ? patience : give_up;
		if (last.phase == POD_ENDED || last.is_leaving || now >= give_up)
			return fail_pod(r, &last, err);
		if (now >= deadline || k->is_closing) {
			(void)fail_pod(r, &last, err);
			err->code = ERROR_TIMEOUT;
			return -1;
		}
		thread_wait(&k->changed, &k->mutex, give_up < deadline ? give_up : deadline);
	}
}

static bool has_come(const struct pod_state *pod, enum pod_step step)
{
	switch (step) {
	case POD_STEP_MADE:
		return pod != NULL;
	case POD_STEP_LEAVING:
		return !pod || pod->is_leaving;
	case POD_STEP_ENDED:
		return !pod || pod->phase == POD_ENDED;
	case POD_STEP_GONE:
		return !pod;
	}
	return false;
}

bool kubernetes_await_step(struct remote *r, const char *name, enum pod_step step, int64_t deadline)
{
	struct kubernetes *k = as_kubernetes(r);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);

	for (;;) {
		/* Before the first list nothing is known of any pod. */
		if (k->is_listed && has_come(map_find(&k->pods, name), step))
			return true;
		if (k->is_closing || clock_monotonic_ms() >= deadline)
			return false;
		thread_wait(&k->changed, &k->mutex, deadline);
	}
}
