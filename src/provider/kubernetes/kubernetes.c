/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/kubernetes/kubernetes.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/thread.h"
#include "http/client/async.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/agent_stop.h"
#include "provider/kubernetes/class.h"
#include "provider/remote/snapshots.h"
#include "wire/agent_reverse.h"

#define BODY_MAX ((size_t)1 << 20)
#define LOOK_MS 300000 /* the watch tells of changes sooner */
#define TOLD_MS 2000   /* how long an agent may take to end */
#define ENDED_MS 3000  /* until the cluster says so */
#define GRACE_S 1
#define CHANGE_TRIES_MAX 6
#define CHANGE_PAUSE_MS 50 /* before a second try; doubles */
#define CLAIM_PAUSE_MS 100
#define CONFLICT 409

static const int gone_is_fine[] = {404, 0};

static const struct {
	const char *group, *plural;
} kinds_of_objects[OBJECT_KINDS] = {
        [OBJECT_POLICY] = {"/apis/networking.k8s.io/v1", "networkpolicies"},
        [OBJECT_CLAIM] = {"/api/v1", "persistentvolumeclaims"},
        [OBJECT_POD] = {"/api/v1", "pods"},
        [OBJECT_SANDBOX] = {"/apis/agents.x-k8s.io/v1beta1", "sandboxes"},
};

const char *kubernetes_path(const struct remote *r, struct arena *a, enum object_kind kind,
                            const char *name)
{
	return arena_format(a, "%s/namespaces/%s/%s%s%s", kinds_of_objects[kind].group,
	                    as_kubernetes(r)->access.namespace, kinds_of_objects[kind].plural,
	                    name ? "/" : "", name ? name : "");
}

/* An object of the name, and not a change of another caller. */
static bool exists_already(struct span body)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *root;
	struct error ignored = {0};

	return json_load(&arena, body, &root, &ignored) == 0 &&
	       strcmp(json_get_text(root, "reason", ""), "AlreadyExists") == 0;
}

static bool is_accepted(const struct remote_call *call, int status)
{
	for (const int *at = call->accepted; at && *at; at++)
		if (*at == status)
			return true;
	return false;
}

/* The status; 0: try again, `err` says why. */
static int try_change(struct remote *r, const struct remote_call *call, struct error *err)
{
	const int accepted[] = {CONFLICT, is_accepted(call, 404) ? 404 : CONFLICT, 0};
	struct remote_call with_conflict = *call;
	struct http_async_answer answer;
	int status;

	with_conflict.accepted = accepted;
	if (remote_call(r, &with_conflict, &answer, err) < 0)
		return -1;
	status = answer.status;
	if (status == CONFLICT && !exists_already(buf_span(&answer.body))) {
		(void)remote_fail_status(r, status, buf_span(&answer.body), 1, err);
		err->code = ERROR_UNAVAILABLE;
		status = 0;
	}
	buf_done(&answer.body);
	return status;
}

int kubernetes_change(struct remote *r, const struct remote_call *call, struct error *err)
{
	int64_t pause_ms = CHANGE_PAUSE_MS;

	for (unsigned tries = 1;; tries++) {
		int status = try_change(r, call, err);

		if (status != 0)
			return status;
		if (tries == CHANGE_TRIES_MAX || clock_monotonic_ms() + pause_ms >= call->deadline)
			return -1;
		error_clear(err);
		kubernetes_follow_pause(as_kubernetes(r), pause_ms);
		pause_ms *= 2;
	}
}

int kubernetes_post(struct remote *r, enum object_kind kind, struct span body, int64_t deadline,
                    struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct remote_call call = {.method = "POST",
	                                 .path = kubernetes_path(r, &arena, kind, NULL),
	                                 .body = body,
	                                 .deadline = deadline};
	int status = kubernetes_change(r, &call, err);

	return status < 0 ? -1 : status == CONFLICT;
}

int kubernetes_delete(struct remote *r, enum object_kind kind, const char *name, int grace_s,
                      int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct remote_call call = {
	        .method = "DELETE",
	        .path = arena_format(&arena,
	                             "%s?gracePeriodSeconds=%d&propagationPolicy=Background",
	                             kubernetes_path(r, &arena, kind, name), grace_s),
	        .accepted = gone_is_fine,
	        .deadline = deadline};

	return kubernetes_change(r, &call, err) < 0 ? -1 : 0;
}

static int put_policy(struct remote *r, const char *name, struct span body, int64_t deadline,
                      struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct remote_call put = {.method = "PUT",
	                                .path = kubernetes_path(r, &arena, OBJECT_POLICY, name),
	                                .body = body,
	                                .deadline = deadline};

	return kubernetes_change(r, &put, err) < 0 ? -1 : 0;
}

int kubernetes_replace_policy(struct remote *r, const struct pod_wish *wish, int64_t deadline,
                              struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);

	if (kubernetes_write_policy(r, &body, wish, err) < 0)
		return -1;
	return put_policy(r, wish->name, buf_span(&body), deadline, err);
}

/* What a create of this name has left, or made, is taken as it is; other rules replace its rules.
 */
int kubernetes_make_policy(struct remote *r, const struct pod_wish *wish, int64_t deadline,
                           struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);

	if (kubernetes_write_policy(r, &body, wish, err) < 0)
		return -1;
	int status = kubernetes_post(r, OBJECT_POLICY, buf_span(&body), deadline, err);
	if (status <= 0)
		return status;
	return put_policy(r, wish->name, buf_span(&body), deadline, err);
}

/* 1: the claim has been deleted, and is there until the cluster has seen that no pod uses it, or is
 * gone by now. */
static int is_claim_leaving(struct remote *r, const char *name, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *object;
	const struct remote_call call = {.method = "GET",
	                                 .path = kubernetes_path(r, &arena, OBJECT_CLAIM, name),
	                                 .accepted = gone_is_fine,
	                                 .deadline = deadline};

	if (remote_call_load(r, &call, &arena, &object, err) < 0)
		return -1;
	return strcmp(json_get_text(object, "kind", ""), "PersistentVolumeClaim") != 0 ||
	       *json_get_text(json_get(object, "metadata"), "deletionTimestamp", "");
}

/* A pod that names a claim which leaves would wait for it forever. */
int kubernetes_make_claim(struct remote *r, const struct pod_wish *wish, int64_t deadline,
                          struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);

	if (!kubernetes_keeps_home(as_kubernetes(r)->options))
		return 0;
	kubernetes_write_claim(r, &body, wish);
	for (;;) {
		int status = kubernetes_post(r, OBJECT_CLAIM, buf_span(&body), deadline, err);

		if (status > 0)
			status = is_claim_leaving(r, wish->name, deadline, err);
		if (status <= 0)
			return status;
		if (clock_monotonic_ms() >= deadline || as_kubernetes(r)->is_closing)
			return FAIL(err, ERROR_TIMEOUT,
			            "provider '%s': the deleted claim '%s' is not gone yet",
			            r->name, wish->name);
		kubernetes_follow_pause(as_kubernetes(r), CLAIM_PAUSE_MS);
	}
}

/* The answer to the call that made it was lost, and the call was sent again: owner and epoch are
 * those of this create. Any other pod of the name is not ours to take. */
static int take_own_pod(struct remote *r, const struct pod_wish *wish, int64_t deadline,
                        struct pod_state *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *object, *metadata, *labels;
	const struct remote_call call = {.method = "GET",
	                                 .path = kubernetes_path(r, &arena, OBJECT_POD, wish->name),
	                                 .deadline = deadline};
	const char *owner = wish->spec->owner ? wish->spec->owner : "", *epoch;

	if (remote_call_load(r, &call, &arena, &object, err) < 0) {
		err->code = ERROR_UNAVAILABLE;
		return -1;
	}
	metadata = json_get(object, "metadata");
	labels = json_get(metadata, "labels");
	epoch = arena_format(&arena, "%lld", (long long)wish->spec->lease_epoch);
	if (!kubernetes_read_pod(object, ret) ||
	    strcmp(json_get_text(labels, LABEL_SERVER, ""), r->server) != 0 ||
	    strcmp(json_get_text(labels, LABEL_OWNER, ""), owner) != 0 ||
	    strcmp(json_get_text(json_get(metadata, "annotations"), NOTE_EPOCH, ""), epoch) != 0)
		return FAIL(err, ERROR_CONFLICT, "provider '%s' has another pod '%s' already",
		            r->name, wish->name);
	return 0;
}

static int make_pod(struct remote *r, struct pod_wish *wish, struct pod_wait *wait,
                    int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	char token[AGENT_TOKEN_MAX + 1];
	struct pod_state pod = {.phase = POD_PENDING};

	remote_agent_token(r, wish->name, token);
	wish->token = token;
	if (remote_image_of(r, &arena, wish->spec->template_dir, &wish->image, err) < 0)
		return -1;
	int has_kind = kubernetes_has_sandbox_kind(r, deadline, err);
	if (has_kind != 0)
		return has_kind < 0 ? -1 : kubernetes_run_sandbox(r, wish, wait, deadline, err);
	kubernetes_write_pod(r, &body, wish);
	int status = kubernetes_post(r, OBJECT_POD, buf_span(&body), deadline, err);
	if (status < 0 || (status > 0 && take_own_pod(r, wish, deadline, &pod, err) < 0))
		return -1;
	(void)snprintf(pod.name, sizeof(pod.name), "%s", wish->name);
	memcpy(pod.sandbox, wish->spec->id, sizeof(pod.sandbox));
	kubernetes_wait_made(r, wait, &pod);
	fault_point("kubernetes", "pod-made");
	return kubernetes_await_running(r, wait, deadline, err);
}

static void note_sizes(const struct sandbox_spec *spec, struct remote_sandbox *s)
{
	s->cpu = spec->resources.cpu;
	s->memory_mb = spec->resources.memory_mb;
	s->disk_mb = spec->resources.disk_mb;
	s->has_access = true;
}

/* All of the name s->remote_id. */
static int make_objects(struct remote *r, const struct sandbox_spec *spec, struct remote_sandbox *s,
                        int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct pod_wish wish = {.spec = spec, .name = s->remote_id};
	struct pod_wait wait;

	note_sizes(spec, s);
	if (kubernetes_find_source(r, &arena, &wish, deadline, err) < 0 ||
	    kubernetes_make_policy(r, &wish, deadline, err) < 0)
		return -1;
	fault_point("kubernetes", "policy-made");
	if (kubernetes_make_claim(r, &wish, deadline, err) < 0)
		return -1;
	fault_point("kubernetes", "claim-made");
	kubernetes_wait_begin(r, &wait, s->remote_id);
	int status = make_pod(r, &wish, &wait, deadline, err);
	kubernetes_wait_end(r, &wait);
	return status;
}

/* Once, before the first pod: what has been checked stays. */
static int check_class(struct remote *r, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct kubernetes *k = as_kubernetes(r);
	const char *name = k->options->runtime_class;
	const struct remote_call call = {
	        .method = "GET",
	        .path = arena_format(&arena, "/apis/node.k8s.io/v1/runtimeclasses/%s", name),
	        .deadline = deadline};
	const struct json_value *found;

	if (strcmp(kubernetes_isolation_of(name), provider_kubernetes.isolation) == 0 ||
	    atomic_load(&k->class_is_checked))
		return 0;
	if (remote_call_load(r, &call, &arena, &found, err) < 0) {
		err->code = ERROR_UNAVAILABLE;
		return FAIL_CONTEXT(err, "RuntimeClass '%s'", name);
	}
	if (kubernetes_check_handler(name, json_get_text(found, "handler", ""), err) < 0)
		return -1;
	atomic_store(&k->class_is_checked, true);
	return 0;
}

static int kubernetes_create(struct remote *r, const struct sandbox_spec *spec, int64_t deadline,
                             struct remote_sandbox *ret, struct error *err)
{
	if (check_class(r, deadline, err) < 0 || kubernetes_check_rules(r, spec, err) < 0)
		return -1;
	/* The home of a warm pod is empty. */
	int status = spec->snapshot ? 0 : kubernetes_warm_claim(r, spec, deadline, ret, err);
	if (status > 0)
		note_sizes(spec, ret);
	if (status != 0)
		return status < 0 ? -1 : 0;
	kubernetes_name(spec->id, ret->remote_id);
	return make_objects(r, spec, ret, deadline, err);
}

struct object_listing {
	const struct remote *remote;
	struct arena *arena;
	size_t capacity;
	struct remote_list list;
};

static struct remote_sandbox *item_of(struct object_listing *l, const char *id)
{
	for (size_t i = 0; i < l->list.count; i++)
		if (strcmp(l->list.items[i].id, id) == 0)
			return &l->list.items[i];
	l->list.items = arena_grow(l->arena, l->list.items, l->list.count, &l->capacity,
	                           sizeof(*l->list.items));
	struct remote_sandbox *s = &l->list.items[l->list.count++];
	*s = (struct remote_sandbox){.state = REMOTE_STOPPED};
	memcpy(s->id, id, ID_SIZE + 1);
	return s;
}

static void take_pod(const struct json_value *object, struct remote_sandbox *s)
{
	struct pod_state pod;

	if (!kubernetes_read_pod(object, &pod))
		return;
	s->started_unix_ms = pod.started_unix_ms;
	s->ended = pod.ended;
	if (pod.phase == POD_ENDED || pod.is_leaving)
		return;
	s->state = REMOTE_RUNNING;
	s->has_access = true;
}

static void take_object(struct object_listing *l, enum object_kind kind,
                        const struct json_value *object)
{
	const struct json_value *metadata = json_get(object, "metadata");
	const struct json_value *labels = json_get(metadata, "labels");
	const char *id = json_get_text(labels, LABEL_SANDBOX, "");
	const char *owner = json_get_text(labels, LABEL_OWNER, "");
	struct error ignored = {0};

	if (!id_is_valid(id) ||
	    strcmp(json_get_text(labels, LABEL_SERVER, ""), l->remote->server) != 0)
		return;
	/* The cluster keeps a deleted claim until it has noticed that the pod is gone. */
	if (kind == OBJECT_CLAIM && json_get(metadata, "deletionTimestamp"))
		return;
	struct remote_sandbox *s = item_of(l, id);
	(void)snprintf(s->remote_id, sizeof(s->remote_id), "%s",
	               json_get_text(metadata, "name", s->remote_id));
	if (id_is_valid(owner))
		memcpy(s->owner, owner, sizeof(s->owner));
	(void)!span_parse_whole(
	        span_of(json_get_text(json_get(metadata, "annotations"), NOTE_EPOCH, "")), 0,
	        INT64_MAX, &s->lease_epoch, &ignored);
	if (kind == OBJECT_POD)
		take_pod(object, s);
}

static int list_kind(struct remote *r, struct object_listing *listing, enum object_kind kind,
                     const char *id, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *list, *items;
	const struct remote_call call = {
	        .method = "GET",
	        .path = arena_format(&arena, "%s?labelSelector=" LABEL_SERVER "%%3D%s%s%s",
	                             kubernetes_path(r, &arena, kind, NULL), r->server,
	                             id ? "%2C" LABEL_SANDBOX "%3D" : "", id ? id : ""),
	        .answer_max = KUBERNETES_LIST_MAX,
	        .deadline = deadline};

	if (remote_call_load(r, &call, &arena, &list, err) < 0)
		return -1;
	items = json_get(list, "items");
	if (!items)
		return FAIL(err, ERROR_UNAVAILABLE, "%s lists no %s", KUBERNETES_TITLE,
		            kinds_of_objects[kind].plural);
	for (size_t i = 0; i < json_count(items); i++)
		take_object(listing, kind, json_item_at(items, i));
	return 0;
}

/* Pods come behind policies and claims, because what they say of an owner is newer. */
static int kubernetes_list(struct remote *r, struct arena *a, const char *id, int64_t deadline,
                           struct remote_list *ret, struct error *err)
{
	struct object_listing listing = {.remote = r, .arena = a};
	int has_kind = kubernetes_has_sandbox_kind(r, deadline, err);

	if (has_kind < 0)
		return -1;
	for (enum object_kind kind = 0; kind < OBJECT_KINDS; kind++)
		if ((kind != OBJECT_SANDBOX || has_kind > 0) &&
		    list_kind(r, &listing, kind, id, deadline, err) < 0)
			return -1;
	*ret = listing.list;
	return 0;
}

/* The agent is process 1: all processes of the pod end with it. */
static void tell_agent_to_end(struct remote *r, const char *id)
{
	AUTO_CLOSE int fd = agent_stop_begin(&r->base, id, 0);
	struct error ignored = {0};
	char byte;

	if (fd >= 0 && fd_wait(fd, POLLIN, deadline_after(TOLD_MS), &ignored) == 1)
		(void)!read(fd, &byte, 1);
}

/* Its node has said that nothing of it runs, or says so by the removal of the object. */
static int end_pod(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                   struct error *err)
{
	int64_t soon = deadline_after(ENDED_MS);
	bool has_ended;

	if (kubernetes_suspend_sandbox(r, s->remote_id, deadline, err) < 0)
		return -1;
	has_ended = kubernetes_await_step(r, s->remote_id, POD_STEP_ENDED,
	                                  soon < deadline ? soon : deadline);
	if (!has_ended &&
	    kubernetes_delete(r, OBJECT_POD, s->remote_id, GRACE_S, deadline, err) < 0)
		return -1;
	if (!has_ended && !kubernetes_await_step(r, s->remote_id, POD_STEP_ENDED, deadline))
		return FAIL(err, ERROR_TIMEOUT,
		            "provider '%s': the node of pod '%s' has not ended it yet", r->name,
		            s->remote_id);
	/* Nothing runs: the object need not wait for the rest of its node's work. */
	if (kubernetes_delete(r, OBJECT_POD, s->remote_id, 0, deadline, err) < 0)
		return -1;
	fault_point("kubernetes", "pod-removed");
	if (!kubernetes_await_step(r, s->remote_id, POD_STEP_GONE, deadline))
		return FAIL(err, ERROR_TIMEOUT, "provider '%s': pod '%s' is not gone yet", r->name,
		            s->remote_id);
	return 0;
}

static int kubernetes_remove(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                             struct error *err)
{
	if (s->state == REMOTE_RUNNING)
		tell_agent_to_end(r, s->id);
	if (end_pod(r, s, deadline, err) < 0)
		return -1;
	int has_kind = kubernetes_has_sandbox_kind(r, deadline, err);
	if (has_kind < 0 ||
	    (has_kind > 0 &&
	     kubernetes_delete(r, OBJECT_SANDBOX, s->remote_id, 0, deadline, err) < 0) ||
	    kubernetes_delete(r, OBJECT_CLAIM, s->remote_id, 0, deadline, err) < 0)
		return -1;
	fault_point("kubernetes", "claim-removed");
	/* Last: what runs is kept from the network to its end. */
	return kubernetes_delete(r, OBJECT_POLICY, s->remote_id, 0, deadline, err);
}

static int kubernetes_pause(struct remote *r, const struct remote_sandbox *s, bool keeps_memory,
                            int64_t deadline, struct error *err)
{
	if (keeps_memory)
		return FAIL(err, ERROR_UNSUPPORTED, "provider '%s' cannot do this: %s", r->name,
		            provider_ability_name(PROVIDER_CAN_PAUSE));
	return end_pod(r, s, deadline, err);
}

static int find_pod(struct remote *r, const char *name, int64_t deadline, struct pod_state *ret,
                    struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *object;
	const struct remote_call call = {.method = "GET",
	                                 .path = kubernetes_path(r, &arena, OBJECT_POD, name),
	                                 .accepted = gone_is_fine,
	                                 .deadline = deadline};

	if (remote_call_load(r, &call, &arena, &object, err) < 0)
		return -1;
	if (!kubernetes_read_pod(object, ret))
		*ret = (struct pod_state){.phase = POD_ABSENT};
	return 0;
}

static int kubernetes_resume(struct remote *r, struct remote_sandbox *s, int64_t deadline,
                             struct error *err)
{
	struct pod_state pod;

	if (find_pod(r, s->remote_id, deadline, &pod, err) < 0)
		return -1;
	if (pod.phase != POD_RUNNING)
		return FAIL(err, ERROR_CONFLICT, "pod '%s' does not run", s->remote_id);
	s->has_access = true;
	return 0;
}

/* The pod of an earlier start is in the way. */
static int clear_pod(struct remote *r, const char *name, int64_t deadline, struct error *err)
{
	if (kubernetes_suspend_sandbox(r, name, deadline, err) < 0 ||
	    kubernetes_delete(r, OBJECT_POD, name, 0, deadline, err) < 0)
		return -1;
	if (kubernetes_await_step(r, name, POD_STEP_GONE, deadline))
		return 0;
	return FAIL(err, ERROR_TIMEOUT, "provider '%s': pod '%s' is not gone yet", r->name, name);
}

static int await_pod(struct remote *r, const char *name, const struct pod_state *pod,
                     int64_t deadline, struct error *err)
{
	struct pod_wait wait;

	kubernetes_wait_begin(r, &wait, name);
	kubernetes_wait_made(r, &wait, pod);
	int status = kubernetes_await_running(r, &wait, deadline, err);
	kubernetes_wait_end(r, &wait);
	return status;
}

static int kubernetes_start(struct remote *r, const struct sandbox_spec *spec,
                            struct remote_sandbox *s, int64_t deadline, struct error *err)
{
	struct pod_state pod;

	if (check_class(r, deadline, err) < 0 || find_pod(r, s->remote_id, deadline, &pod, err) < 0)
		return -1;
	if ((pod.phase == POD_PENDING || pod.phase == POD_RUNNING) && !pod.is_leaving)
		return await_pod(r, s->remote_id, &pod, deadline, err);
	if (pod.phase != POD_ABSENT && clear_pod(r, s->remote_id, deadline, err) < 0)
		return -1;
	return make_objects(r, spec, s, deadline, err);
}

/* A Sandbox object's time is its controller's to obey, too. */
static void write_renewal(struct buf *out, enum object_kind kind, const char *until)
{
	json_begin_object(out, NULL);
	json_begin_object(out, "metadata");
	json_begin_object(out, "annotations");
	json_add_text(out, NOTE_SHUTDOWN, until);
	json_end_object(out);
	json_end_object(out);
	if (kind == OBJECT_SANDBOX) {
		json_begin_object(out, "spec");
		json_add_text(out, "shutdownTime", until);
		json_end_object(out);
	}
	json_end_object(out);
}

static int kubernetes_renew(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                            struct error *err)
{
	int has_kind = kubernetes_has_sandbox_kind(r, deadline, err);
	char until[32];

	if (has_kind < 0)
		return -1;
	kubernetes_shutdown_text(until);
	for (enum object_kind kind = 0; kind < OBJECT_KINDS; kind++) {
		AUTO(arena_done) struct arena arena = {0};
		AUTO(buf_done) struct buf body = BUF(BODY_MAX);

		if (kind == OBJECT_SANDBOX && has_kind == 0)
			continue;
		write_renewal(&body, kind, until);
		const struct remote_call call = {
		        .method = "PATCH",
		        .path = kubernetes_path(r, &arena, kind, s->remote_id),
		        .content_type = "application/merge-patch+json",
		        .body = buf_span(&body),
		        .accepted = gone_is_fine,
		        .deadline = deadline};

		if (kubernetes_change(r, &call, err) < 0)
			return -1;
	}
	return 0;
}

/* The network stays as it is: a sandbox with rules has one. */
static int kubernetes_filter(struct remote *r, const struct remote_sandbox *s, const char *egress,
                             int64_t deadline, struct error *err)
{
	const struct sandbox_spec spec = {.id = s->id,
	                                  .owner = s->owner,
	                                  .lease_epoch = s->lease_epoch,
	                                  .network = SANDBOX_NETWORK_INTERNET,
	                                  .egress = egress};

	const struct pod_wish wish = {.spec = &spec, .name = s->remote_id};

	return kubernetes_make_policy(r, &wish, deadline, err);
}

static int reach_agent(struct remote *r, const struct remote_sandbox *s, struct remote_reach *ret,
                       struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *line = remote_credential_line(r, &arena);
	const struct kubernetes_options *o = as_kubernetes(r)->options;
	const char *way = *o->runtime_class
	                          ? "exec?container=main&stdin=true&stdout=true&stderr=true"
	                            "&command=" REMOTE_AGENT_PATH "&command=--join&command="
	                          : "portforward?ports=";
	int size;

	*ret = (struct remote_reach){.path = ""};
	if (snprintf(ret->url, sizeof(ret->url), "%s", r->api_url) >= (int)sizeof(ret->url))
		return FAIL(err, ERROR_INVALID, "the URL of the cluster is too long");
	size = snprintf(ret->inner, sizeof(ret->inner), "%s/%s/%s%d",
	                kubernetes_path(r, &arena, OBJECT_POD, NULL), s->remote_id, way,
	                REMOTE_PORT);
	if (size < 0 || (size_t)size >= sizeof(ret->inner) ||
	    (line && strlen(line) >= sizeof(ret->credential)))
		return FAIL(err, ERROR_INVALID, "the URL of sandbox '%s' is too long", s->id);
	(void)snprintf(ret->credential, sizeof(ret->credential), "%s", line ? line : "");
	return 0;
}

static int kubernetes_check(struct remote *r, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct remote_call call = {
	        .method = "GET",
	        .path = arena_format(&arena, "%s?limit=1&labelSelector=" LABEL_SERVER "%%3D%s",
	                             kubernetes_path(r, &arena, OBJECT_POD, NULL), r->server),
	        .deadline = deadline};

	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

static int kubernetes_begin(struct remote *r, struct error *err)
{
	struct kubernetes *k = memory_new(sizeof(*k));

	r->state = k;
	k->options = r->own->kubernetes;
	pthread_mutex_init(&k->mutex, NULL);
	thread_condition_init(&k->changed);
	list_init(&k->waits);
	if (!k->options || !*k->options->agent_image || !*r->own->image)
		return FAIL(err, ERROR_INVALID,
		            "provider '%s' needs kubernetes_image and kubernetes_agent_image",
		            r->name);
	if (cluster_access_load(&k->arena, k->options, &k->access, err) < 0)
		return -1;
	const struct http_async_tls tls = {k->access.authorities, k->access.certificate,
	                                   k->access.key};
	http_async_set_tls(r->http, &tls);
	r->credential = memory_text(k->access.token ? k->access.token : "");
	r->key_file = k->access.token_file;
	r->api_url = memory_text(k->access.url);
	return kubernetes_follow_open(r, err) < 0 ? -1 : kubernetes_warm_open(r, err);
}

static void kubernetes_finish(struct remote *r)
{
	kubernetes_follow_finish(r);
	kubernetes_warm_finish(r);
}

static void kubernetes_done(struct remote *r)
{
	struct kubernetes *k = as_kubernetes(r);

	if (!k)
		return;
	map_free_values(&k->pods);
	map_free_values(&k->ended);
	buf_done(&k->line);
	pthread_cond_destroy(&k->changed);
	pthread_mutex_destroy(&k->mutex);
	arena_done(&k->arena);
	free(k);
	r->state = NULL;
}

static const struct remote_kind kind = {
        .name = "kubernetes",
        .title = KUBERNETES_TITLE,
        .key_option = "kubernetes_config",
        .key_header = "Authorization: Bearer ",
        .is_agent_named = true,
        .renews_stopped = true,
        .carrier = &kubernetes_carrier,
        .snapshots = &kubernetes_snapshots,
        .look_ms = LOOK_MS,
        .begin = kubernetes_begin,
        .finish = kubernetes_finish,
        .done = kubernetes_done,
        .create = kubernetes_create,
        .list = kubernetes_list,
        .remove = kubernetes_remove,
        .pause = kubernetes_pause,
        .resume = kubernetes_resume,
        .start = kubernetes_start,
        .renew = kubernetes_renew,
        .filter = kubernetes_filter,
        .reach = reach_agent,
        .check = kubernetes_check,
};

static int kubernetes_open(const struct provider_options *options, struct provider **ret,
                           struct error *err)
{
	return remote_open(&kind, &provider_kubernetes, options->remote, options, ret, err);
}

static void describe_kubernetes(const struct provider_options *options, struct provider_ops *ret)
{
	const struct kubernetes_options *o = options->remote ? options->remote->kubernetes : NULL;

	if (!o)
		return;
	ret->isolation = kubernetes_isolation_of(o->runtime_class);
	if (!kubernetes_keeps_home(o))
		ret->abilities &= ~(unsigned)PROVIDER_CAN_STOP;
	if (!kubernetes_keeps_home(o) || strcmp(o->snapshot_class, "none") == 0)
		ret->abilities &= ~(unsigned)PROVIDER_CAN_SNAPSHOT;
	if (!o->policies_hold)
		ret->abilities &= ~(unsigned)(PROVIDER_CAN_BLOCK_NETWORK | PROVIDER_CAN_FILTER);
}

const struct provider_ops provider_kubernetes = {
        .name = "kubernetes",
        .isolation = "namespaces",
        .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC | PROVIDER_CAN_PTY | PROVIDER_CAN_FILES |
                     PROVIDER_CAN_STATS | PROVIDER_CAN_BLOCK_NETWORK | PROVIDER_CAN_ISOLATE |
                     PROVIDER_SURVIVES | PROVIDER_CAN_DIAL | PROVIDER_CAN_FILTER |
                     PROVIDER_CAN_SNAPSHOT,
        .describe = describe_kubernetes,
        .open = kubernetes_open,
        .filter = remote_filter,
        .stats = remote_stats,
        .snapshots = &remote_snapshots,
        .reports = &kubernetes_reports,
        .is_shared = true,
        REMOTE_PROVIDER_OPS,
};
