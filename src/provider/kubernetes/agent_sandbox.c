/* SPDX-License-Identifier: Apache-2.0 */
/* Sandbox objects of the project agent-sandbox: https://agent-sandbox.sigs.k8s.io/docs/. Their
 * controller makes a pod again that was deleted. A sandbox here ends with its pod, so that its
 * object is suspended as soon as this server sees that the pod is gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/thread.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/kubernetes/kubernetes.h"

#define BODY_MAX ((size_t)1 << 20)
#define LOOK_MS 1000    /* without a pod: what does the controller say? */
#define PATIENCE 4      /* looks at a controller that says it failed */
#define LEAVING_MS 3000 /* until the controller has begun to delete the pod of a suspended one */
#define CALL_MS 10000
#define JSON_PATCH "application/json-patch+json"

static const int gone_is_fine[] = {404, 0};
static const int changed_is_fine[] = {404, 422, 0};

static const char *ready_problem(const struct json_value *object)
{
	const struct json_value *list = json_get(json_get(object, "status"), "conditions");

	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *c = json_item_at(list, i);
		const char *reason = json_get_text(c, "reason", "");

		if (strcmp(json_get_text(c, "type", ""), "Ready") == 0 &&
		    (strcmp(reason, "ReconcilerError") == 0 || strcmp(reason, "MultiplePods") == 0))
			return json_get_text(c, "message", reason);
	}
	return NULL;
}

/* FNV-1a of 32 bits, as the controller has it. */
void kubernetes_sandbox_hash(const char *name, char ret[9])
{
	uint32_t hash = UINT32_C(2166136261);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT32_C(16777619);
	(void)snprintf(ret, 9, "%08x", (unsigned)hash);
}

int kubernetes_find_sandbox_kind(struct remote *r, int64_t deadline, struct error *err)
{
	static const int absent[] = {403, 404, 0};
	AUTO(arena_done) struct arena arena = {0};
	struct kubernetes *k = as_kubernetes(r);
	const struct remote_call call = {
	        .method = "GET",
	        .path = arena_format(&arena, "%s?limit=1",
	                             kubernetes_path(r, &arena, OBJECT_SANDBOX, NULL)),
	        .accepted = absent,
	        .deadline = deadline};
	int status = remote_call_do(r, &call, err);
	enum sandbox_kind is, was;

	if (status < 0)
		return -1;
	is = status == 200 ? SANDBOX_KIND_PRESENT : SANDBOX_KIND_ABSENT;
	was = atomic_exchange(&k->sandbox_kind, is);
	if (is != was && status == 200)
		log_info("sandboxes of a cluster have Sandbox objects", TEXT("provider", r->name));
	return 0;
}

int kubernetes_has_sandbox_kind(struct remote *r, int64_t deadline, struct error *err)
{
	struct kubernetes *k = as_kubernetes(r);

	if (atomic_load(&k->sandbox_kind) == SANDBOX_KIND_UNKNOWN &&
	    kubernetes_find_sandbox_kind(r, deadline, err) < 0)
		return -1;
	return atomic_load(&k->sandbox_kind) == SANDBOX_KIND_PRESENT;
}

static void add_operation(struct buf *out, const char *what, const char *path, const char *value)
{
	json_begin_object(out, NULL);
	json_add_text(out, "op", what);
	json_add_text(out, "path", path);
	json_add_text(out, "value", value);
	json_end_object(out);
}

/* Fails as a whole when another server was faster: then the epoch is another one. */
static void write_change(const struct remote *r, struct buf *out, const struct pod_wish *wish,
                         const char *epoch_before)
{
	char epoch[32];

	(void)snprintf(epoch, sizeof(epoch), "%lld", (long long)wish->spec->lease_epoch);
	json_begin_list(out, NULL);
	add_operation(out, "test", "/metadata/labels/" LABEL_SERVER, r->server);
	add_operation(out, "test", "/metadata/labels/" LABEL_SANDBOX, wish->spec->id);
	add_operation(out, "test", "/metadata/annotations/" NOTE_EPOCH, epoch_before);
	add_operation(out, "add", "/metadata/annotations/" NOTE_EPOCH, epoch);
	if (wish->spec->owner && *wish->spec->owner)
		add_operation(out, "add", "/metadata/labels/" LABEL_OWNER, wish->spec->owner);
	json_begin_object(out, NULL);
	json_add_text(out, "op", "replace");
	json_add_text(out, "path", "/spec");
	kubernetes_write_sandbox_spec(r, out, "value", wish);
	json_end_object(out);
	json_end_list(out);
}

static int load_sandbox(struct remote *r, struct arena *a, const char *name, int64_t deadline,
                        const struct json_value **ret, struct error *err)
{
	const struct remote_call call = {.method = "GET",
	                                 .path = kubernetes_path(r, a, OBJECT_SANDBOX, name),
	                                 .accepted = gone_is_fine,
	                                 .deadline = deadline};

	return remote_call_load(r, &call, a, ret, err);
}

static bool is_older(const char *epoch, int64_t than)
{
	struct error ignored = {0};
	int64_t found;

	return span_parse_whole(span_of(epoch), 0, INT64_MAX, &found, &ignored) == 0 &&
	       found <= than;
}

/* One of the name exists: an earlier start has left it, or an answer to this one was lost. */
static int change_sandbox(struct remote *r, const struct pod_wish *wish, int64_t deadline,
                          struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	const struct json_value *object, *metadata;
	const char *epoch;

	if (load_sandbox(r, &arena, wish->name, deadline, &object, err) < 0)
		return -1;
	metadata = json_get(object, "metadata");
	epoch = json_get_text(json_get(metadata, "annotations"), NOTE_EPOCH, "");
	if (!json_get(object, "spec") || json_get(metadata, "deletionTimestamp"))
		return FAIL(err, ERROR_UNAVAILABLE, "provider '%s': Sandbox '%s' is being deleted",
		            r->name, wish->name);
	write_change(r, &body, wish, epoch);
	const struct remote_call call = {
	        .method = "PATCH",
	        .path = kubernetes_path(r, &arena, OBJECT_SANDBOX, wish->name),
	        .content_type = JSON_PATCH,
	        .body = buf_span(&body),
	        .accepted = changed_is_fine,
	        .deadline = deadline};
	int status =
	        is_older(epoch, wish->spec->lease_epoch) ? kubernetes_change(r, &call, err) : 422;
	if (status < 0)
		return -1;
	if (status == 422)
		return FAIL(err, ERROR_CONFLICT, "provider '%s' has another Sandbox '%s' already",
		            r->name, wish->name);
	return 0;
}

int kubernetes_put_sandbox(struct remote *r, struct pod_wish *wish, int64_t deadline,
                           struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct id start = id_new();

	wish->start = start.text;
	kubernetes_write_sandbox(r, &body, wish);
	int status = kubernetes_post(r, OBJECT_SANDBOX, buf_span(&body), deadline, err);
	if (status > 0)
		status = change_sandbox(r, wish, deadline, err);
	wish->start = NULL;
	if (status == 0)
		fault_point("agent-sandbox", "object-made");
	return status;
}

/* NULL: it does not say that it failed. In the arena. */
static const char *ask_controller(struct remote *r, struct arena *a, const char *name,
                                  int64_t deadline)
{
	const struct json_value *object;
	struct error ignored = {0};

	if (load_sandbox(r, a, name, deadline, &object, &ignored) < 0)
		return NULL;
	return ready_problem(object);
}

/* The controller has made the pod. A quota or a policy of the cluster may refuse it. */
static int await_pod(struct remote *r, const char *name, int64_t deadline, struct error *err)
{
	for (unsigned failed = 0;;) {
		AUTO(arena_done) struct arena arena = {0};
		int64_t until = deadline_after(LOOK_MS);
		const char *problem;

		if (kubernetes_await_step(r, name, POD_STEP_MADE,
		                          until < deadline ? until : deadline))
			return 0;
		problem = ask_controller(r, &arena, name, deadline);
		failed = problem ? failed + 1 : 0;
		if (failed >= PATIENCE)
			return FAIL(err, ERROR_UNAVAILABLE,
			            "provider '%s': the controller of agent-sandbox makes no pod "
			            "'%s': %s",
			            r->name, name, problem);
		if (clock_monotonic_ms() >= deadline)
			return FAIL(err, ERROR_TIMEOUT,
			            "provider '%s': Sandbox '%s' has no pod yet: %s", r->name, name,
			            problem ? problem
			                    : "does the controller of agent-sandbox run?");
	}
}

int kubernetes_run_sandbox(struct remote *r, struct pod_wish *wish, const struct pod_wait *wait,
                           int64_t deadline, struct error *err)
{
	if (kubernetes_put_sandbox(r, wish, deadline, err) < 0 ||
	    await_pod(r, wish->name, deadline, err) < 0)
		return -1;
	return kubernetes_await_running(r, wait, deadline, err);
}

int kubernetes_suspend_sandbox(struct remote *r, const char *name, int64_t deadline,
                               struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	int64_t soon = deadline_after(LEAVING_MS);
	int status = kubernetes_has_sandbox_kind(r, deadline, err);
	const struct remote_call call = {
	        .method = "PATCH",
	        .path = kubernetes_path(r, &arena, OBJECT_SANDBOX, name),
	        .content_type = "application/merge-patch+json",
	        .body = span_of("{\"spec\":{\"operatingMode\":\"Suspended\"}}"),
	        .accepted = gone_is_fine,
	        .deadline = deadline};

	if (status <= 0)
		return status;
	status = kubernetes_change(r, &call, err);
	if (status < 0)
		return -1;
	/* Then it has seen the change, and makes no other pod in place of one that is deleted. */
	if (status != 404)
		(void)kubernetes_await_step(r, name, POD_STEP_LEAVING,
		                            soon < deadline ? soon : deadline);
	return 0;
}

void kubernetes_note_ended(struct kubernetes *k, const struct pod_state *pod)
{
	if (!pod->start[0] || !pod->sandbox[0] ||
	    atomic_load(&k->sandbox_kind) != SANDBOX_KIND_PRESENT)
		return;
	free(map_remove(&k->ended, pod->name));
	(void)map_put(&k->ended, pod->name, memory_text(pod->start));
}

static const char *copy_start(struct kubernetes *k, struct arena *a, const char *name)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	const char *start = map_find(&k->ended, name);

	return start ? arena_text(a, start) : NULL;
}

static void forget_start(struct kubernetes *k, const char *name, const char *start)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	const char *now = map_find(&k->ended, name);

	if (now && strcmp(now, start) == 0)
		free(map_remove(&k->ended, name));
}

int kubernetes_suspend_ended(struct remote *r, const char *name, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct kubernetes *k = as_kubernetes(r);
	const char *start = copy_start(k, &arena, name);

	if (!start)
		return 0;
	json_begin_list(&body, NULL);
	add_operation(&body, "test", "/spec/podTemplate/metadata/annotations/" NOTE_START, start);
	add_operation(&body, "replace", "/spec/operatingMode", "Suspended");
	json_end_list(&body);
	const struct remote_call call = {.method = "PATCH",
	                                 .path = kubernetes_path(r, &arena, OBJECT_SANDBOX, name),
	                                 .content_type = JSON_PATCH,
	                                 .body = buf_span(&body),
	                                 .accepted = changed_is_fine,
	                                 .deadline = deadline_after(CALL_MS)};
	if (kubernetes_change(r, &call, err) < 0)
		return -1;
	forget_start(k, name, start);
	return 0;
}
