/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that run before a sandbox is asked for. Image and limits are the shape of a pod: its label
 * says which, and a create of that shape claims it by a change that fails when another server was
 * faster. The claim comes first, then the rules, then the home: whatever a crash leaves has the
 * sandbox's label or the label of a warm pod, and is found by it. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/thread.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/health.h"
#include "provider/kubernetes/kubernetes.h"
#include "provider/reports.h"
#include "wire/agent_reverse.h"

#define BODY_MAX ((size_t)1 << 16)
#define CALL_MS 10000
#define LOOK_MS 30000
#define RETRY_MS 2000 /* after a failure; doubles */
#define RETRY_MAX_MS 60000
#define ASKED_MS (10 * INT64_C(60000)) /* a shape that is not asked for any longer has no pods */
#define OLD_MS (30 * INT64_C(60000))   /* then one that this server does not need is removed */
#define STUCK_MS (5 * INT64_C(60000))  /* then one that does not start is made again */
#define REMAINS_MS INT64_C(60000)      /* longer than one is made */
#define REMAINS_EVERY_MS INT64_C(60000)
#define CLAIMS_MAX 4 /* pods that a create tries to get */

struct warm_step {
	enum { WARM_WAIT, WARM_MAKE, WARM_REMOVE, WARM_SUSPEND } what;
	char name[KUBERNETES_NAME_MAX];
	struct warm_kind kind;
};

/* Whatever a pod of its own would have for itself. */
static void find_shape(const struct kubernetes *k, const char *image,
                       const struct sandbox_resources *limits, char ret[KUBERNETES_SHAPE_SIZE + 1])
{
	const struct kubernetes_options *o = k->options;
	unsigned char hash[crypto_generichash_BYTES];
	AUTO(buf_done) struct buf text = BUF(BODY_MAX);

	buf_addf(&text, "%s %s %s %s %s %lld %.3f %lld %lld", image, o->agent_image, o->agent_path,
	         o->runtime_class, o->storage_class, (long long)o->cpu_request_percent, limits->cpu,
	         (long long)limits->memory_mb, (long long)limits->disk_mb);
	(void)crypto_generichash(hash, sizeof(hash), (const unsigned char *)text.data, text.size,
	                         NULL, 0);
	(void)sodium_bin2hex(ret, KUBERNETES_SHAPE_SIZE + 1, hash, KUBERNETES_SHAPE_SIZE / 2);
}

/* Called with the mutex held. */
static struct warm_kind *find_kind(struct kubernetes *k, const char *shape)
{
	for (size_t i = 0; i < COUNT_OF(k->warm_kinds); i++)
		if (k->warm_kinds[i].asked_ms && strcmp(k->warm_kinds[i].shape, shape) == 0)
			return &k->warm_kinds[i];
	return NULL;
}

/* The thread makes pods of this kind from now on; the kind that was asked for least lately goes. */
static void note_kind(struct kubernetes *k, const struct warm_kind *asked)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	struct warm_kind *kind = find_kind(k, asked->shape);

	for (size_t i = 0; !kind && i < COUNT_OF(k->warm_kinds); i++)
		if (!k->warm_kinds[i].asked_ms)
			kind = &k->warm_kinds[i];
	if (!kind) {
		kind = &k->warm_kinds[0];
		for (size_t i = 1; i < COUNT_OF(k->warm_kinds); i++)
			if (k->warm_kinds[i].asked_ms < kind->asked_ms)
				kind = &k->warm_kinds[i];
	}
	*kind = *asked;
	pthread_cond_broadcast(&k->changed);
}

/* One that runs, for this create alone on this server. */
static bool take_candidate(struct kubernetes *k, const char *shape, char ret[KUBERNETES_NAME_MAX])
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	const char *name;
	size_t at = 0;

	for (struct pod_state *pod; (pod = map_next(&k->pods, &at, &name));) {
		if (pod->is_taken || pod->is_leaving || pod->phase != POD_RUNNING ||
		    strcmp(pod->warm, shape) != 0)
			continue;
		pod->is_taken = true;
		memcpy(ret, pod->name, KUBERNETES_NAME_MAX);
		return true;
	}
	return false;
}

/* It is still a warm one. */
static void give_back_candidate(struct kubernetes *k, const char *name)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	struct pod_state *pod = map_find(&k->pods, name);

	if (pod)
		pod->is_taken = false;
}

static void write_operation(struct buf *out, const char *what, const char *path, const char *value)
{
	json_begin_object(out, NULL);
	json_add_text(out, "op", what);
	json_add_text(out, "path", path);
	if (value)
		json_add_text(out, "value", value);
	json_end_object(out);
}

/* Fails as a whole unless the pod is still a warm one. */
static void write_claim(struct buf *out, const struct sandbox_spec *spec, const char *shape,
                        const char *name)
{
	char epoch[32], until[32], hash[9];

	(void)snprintf(epoch, sizeof(epoch), "%lld", (long long)spec->lease_epoch);
	kubernetes_shutdown_text(until);
	json_begin_list(out, NULL);
	write_operation(out, "test", "/metadata/labels/" LABEL_WARM, shape);
	write_operation(out, "remove", "/metadata/labels/" LABEL_WARM, NULL);
	write_operation(out, "add", "/metadata/labels/" LABEL_SANDBOX, spec->id);
	if (spec->owner && *spec->owner)
		write_operation(out, "add", "/metadata/labels/" LABEL_OWNER, spec->owner);
	write_operation(out, "add", "/metadata/annotations/" NOTE_EPOCH, epoch);
	write_operation(out, "add", "/metadata/annotations/" NOTE_SHUTDOWN, until);
	/* The controller of Sandbox objects takes over no pod without it. */
	kubernetes_sandbox_hash(name, hash);
	write_operation(out, "add", SANDBOX_LABEL_PATH, hash);
	json_end_list(out);
}

static int read_pod(struct remote *r, const char *name, int64_t deadline, struct pod_state *ret,
                    struct error *err)
{
	static const int gone_is_fine[] = {404, 0};
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

/* 1: it is this sandbox's; 0: another create was faster, or it is gone. */
static int claim_pod(struct remote *r, const struct sandbox_spec *spec, const char *shape,
                     const char *name, int64_t deadline, struct error *err)
{
	static const int refused[] = {404, 409, 422, 0};
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct pod_state pod;

	write_claim(&body, spec, shape, name);
	const struct remote_call call = {.method = "PATCH",
	                                 .path = kubernetes_path(r, &arena, OBJECT_POD, name),
	                                 .content_type = "application/json-patch+json",
	                                 .body = buf_span(&body),
	                                 .accepted = refused,
	                                 .deadline = deadline};
	/* The answer to an earlier one of this call may be lost: the pod itself tells. */
	if (remote_call_do(r, &call, err) < 0 || read_pod(r, name, deadline, &pod, err) < 0)
		return -1;
	if (strcmp(pod.sandbox, spec->id) != 0)
		return 0;
	if (pod.phase != POD_RUNNING || pod.is_leaving)
		return FAIL(err, ERROR_UNAVAILABLE, "provider '%s': pod '%s' has just ended",
		            r->name, name);
	return 1;
}

static int claim_home(struct remote *r, const struct sandbox_spec *spec, const char *name,
                      int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	char text[32];

	if (!kubernetes_keeps_home(as_kubernetes(r)->options))
		return 0;
	json_begin_object(&body, NULL);
	json_begin_object(&body, "metadata");
	json_begin_object(&body, "labels");
	json_add_null(&body, LABEL_WARM);
	json_add_text(&body, LABEL_SANDBOX, spec->id);
	if (spec->owner && *spec->owner)
		json_add_text(&body, LABEL_OWNER, spec->owner);
	json_end_object(&body);
	json_begin_object(&body, "annotations");
	(void)snprintf(text, sizeof(text), "%lld", (long long)spec->lease_epoch);
	json_add_text(&body, NOTE_EPOCH, text);
	kubernetes_shutdown_text(text);
	json_add_text(&body, NOTE_SHUTDOWN, text);
	json_end_object(&body);
	json_end_object(&body);
	json_end_object(&body);
	const struct remote_call call = {.method = "PATCH",
	                                 .path = kubernetes_path(r, &arena, OBJECT_CLAIM, name),
	                                 .content_type = "application/merge-patch+json",
	                                 .body = buf_span(&body),
	                                 .deadline = deadline};
	return kubernetes_change(r, &call, err) < 0 ? -1 : 0;
}

static int find_wanted(struct remote *r, const struct sandbox_spec *spec, struct warm_kind *ret,
                       struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const char *image;

	*ret = (struct warm_kind){.limits = spec->resources, .asked_ms = clock_monotonic_ms()};
	if (remote_image_of(r, &arena, spec->template_dir, &image, err) < 0)
		return -1;
	if (snprintf(ret->image, sizeof(ret->image), "%s", image) >= (int)sizeof(ret->image))
		return 0;
	find_shape(as_kubernetes(r), image, &spec->resources, ret->shape);
	return 1;
}

/* The controller takes the pod over as that of the object. */
static int claim_object(struct remote *r, const struct sandbox_spec *spec,
                        const struct warm_kind *kind, const char *name, int64_t deadline,
                        struct error *err)
{
	char token[AGENT_TOKEN_MAX + 1];
	int has_kind = kubernetes_has_sandbox_kind(r, deadline, err);
	struct pod_wish wish = {.spec = spec, .name = name, .image = kind->image, .token = token};

	if (has_kind <= 0)
		return has_kind;
	remote_agent_token(r, name, token);
	return kubernetes_put_sandbox(r, &wish, deadline, err);
}

static void count_claim(struct kubernetes *k, bool is_hit)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);

	k->warm_hits += is_hit;
	k->warm_misses += !is_hit;
}

int kubernetes_warm_claim(struct remote *r, const struct sandbox_spec *spec, int64_t deadline,
                          struct remote_sandbox *s, struct error *err)
{
	struct kubernetes *k = as_kubernetes(r);
	char name[KUBERNETES_NAME_MAX];
	struct warm_kind wanted;
	int status = k->options->warm_pods > 0 ? find_wanted(r, spec, &wanted, err) : 0;

	if (status <= 0)
		return status;
	note_kind(k, &wanted);
	status = 0;
	for (unsigned i = 0; status == 0 && i < CLAIMS_MAX; i++) {
		if (!take_candidate(k, wanted.shape, name))
			break;
		status = claim_pod(r, spec, wanted.shape, name, deadline, err);
		if (status < 0)
			give_back_candidate(k, name);
	}
	count_claim(k, status > 0);
	if (status <= 0)
		return status;
	fault_point("kubernetes", "warm-claimed");
	const struct pod_wish wish = {.spec = spec, .name = name};
	if (kubernetes_replace_policy(r, &wish, deadline, err) < 0 ||
	    claim_home(r, spec, name, deadline, err) < 0 ||
	    claim_object(r, spec, &wanted, name, deadline, err) < 0)
		return -1;
	(void)snprintf(s->remote_id, sizeof(s->remote_id), "%s", name);
	return 1;
}

/* Called with the mutex held. */
static int64_t count_pods(struct kubernetes *k, const char *shape)
{
	int64_t count = 0;
	const char *name;
	size_t at = 0;

	for (const struct pod_state *pod; (pod = map_next(&k->pods, &at, &name));)
		count += !pod->is_taken && !pod->is_leaving && pod->phase != POD_ENDED &&
		         strcmp(pod->warm, shape) == 0;
	return count;
}

/* Called with the mutex held. Other servers on the store may need what this one does not. */
static bool is_of_no_use(struct kubernetes *k, const struct pod_state *pod)
{
	int64_t age_ms = clock_unix_ms() - pod->made_unix_ms;

	if (!pod->warm[0] || pod->is_taken || pod->is_leaving)
		return false;
	if (pod->phase == POD_ENDED || k->options->warm_pods == 0)
		return true;
	if (pod->phase == POD_PENDING)
		return age_ms > STUCK_MS;
	return age_ms > OLD_MS &&
	       (!find_kind(k, pod->warm) || count_pods(k, pod->warm) > k->options->warm_pods);
}

/* Called with the mutex held. */
static void forget_kinds(struct kubernetes *k)
{
	for (size_t i = 0; i < COUNT_OF(k->warm_kinds); i++)
		if (clock_monotonic_ms() - k->warm_kinds[i].asked_ms > ASKED_MS)
			k->warm_kinds[i].asked_ms = 0;
}

/* Called with the mutex held. */
static struct warm_step find_step(struct kubernetes *k)
{
	struct warm_step step = {.what = WARM_WAIT};
	const char *name;
	size_t at = 0;

	if (!k->is_listed || k->is_closing)
		return step;
	if (map_next(&k->ended, &at, &name)) {
		step.what = WARM_SUSPEND;
		(void)snprintf(step.name, sizeof(step.name), "%s", name);
		return step;
	}
	at = 0;
	forget_kinds(k);
	for (const struct pod_state *pod; (pod = map_next(&k->pods, &at, &name));)
		if (is_of_no_use(k, pod)) {
			step.what = WARM_REMOVE;
			memcpy(step.name, pod->name, sizeof(step.name));
			return step;
		}
	for (size_t i = 0; i < COUNT_OF(k->warm_kinds); i++)
		if (k->warm_kinds[i].asked_ms &&
		    count_pods(k, k->warm_kinds[i].shape) < k->options->warm_pods) {
			step.what = WARM_MAKE;
			step.kind = k->warm_kinds[i];
			return step;
		}
	return step;
}

static int remove_warm(struct remote *r, const char *name, struct error *err)
{
	int64_t deadline = deadline_after(CALL_MS);

	return kubernetes_delete(r, OBJECT_POD, name, 0, deadline, err) < 0 ||
	                       kubernetes_delete(r, OBJECT_CLAIM, name, 0, deadline, err) < 0 ||
	                       kubernetes_delete(r, OBJECT_POLICY, name, 0, deadline, err) < 0
	               ? -1
	               : 0;
}

static int make_warm(struct remote *r, const struct warm_kind *kind, struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	char token[AGENT_TOKEN_MAX + 1];
	struct pod_state pod = {.phase = POD_PENDING, .made_unix_ms = clock_unix_ms()};
	const struct sandbox_spec spec = {.id = "", .resources = kind->limits};
	const struct pod_wish wish = {.spec = &spec,
	                              .name = pod.name,
	                              .warm = kind->shape,
	                              .image = kind->image,
	                              .token = token};
	int64_t deadline = deadline_after(CALL_MS);

	(void)snprintf(pod.name, sizeof(pod.name), KUBERNETES_PREFIX "warm-%s", id_new().text);
	memcpy(pod.warm, kind->shape, sizeof(pod.warm));
	remote_agent_token(r, pod.name, token);
	if (kubernetes_make_policy(r, &wish, deadline, err) < 0 ||
	    kubernetes_make_claim(r, &wish, deadline, err) < 0)
		return -1;
	kubernetes_write_pod(r, &body, &wish);
	if (kubernetes_post(r, OBJECT_POD, buf_span(&body), deadline, err) < 0)
		return -1;
	kubernetes_note_pod(r, &pod);
	return 0;
}

static bool has_pod(struct kubernetes *k, const char *name)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);

	return map_find(&k->pods, name) != NULL;
}

static bool is_remainder(struct kubernetes *k, const struct json_value *metadata)
{
	int64_t made_ms;

	return json_time_parse(span_of(json_get_text(metadata, "creationTimestamp", "")),
	                       &made_ms) &&
	       clock_unix_ms() - made_ms > REMAINS_MS &&
	       !has_pod(k, json_get_text(metadata, "name", ""));
}

/* Rules and homes of warm pods that were never made, or are gone. */
static int remove_remains(struct remote *r, enum object_kind kind, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *list, *items;
	const struct remote_call call = {
	        .method = "GET",
	        .path = arena_format(&arena,
	                             "%s?labelSelector=" LABEL_SERVER "%%3D%s%%2C" LABEL_WARM,
	                             kubernetes_path(r, &arena, kind, NULL), r->server),
	        .answer_max = KUBERNETES_LIST_MAX,
	        .deadline = deadline_after(CALL_MS)};

	if (remote_call_load(r, &call, &arena, &list, err) < 0)
		return -1;
	items = json_get(list, "items");
	for (size_t i = 0; i < json_count(items); i++) {
		const struct json_value *metadata = json_get(json_item_at(items, i), "metadata");

		if (is_remainder(as_kubernetes(r), metadata) &&
		    kubernetes_delete(r, kind, json_get_text(metadata, "name", ""), 0,
		                      deadline_after(CALL_MS), err) < 0)
			return -1;
	}
	return 0;
}

static int take_step(struct remote *r, const struct warm_step *step, int64_t *remains_at,
                     struct error *err)
{
	if (step->what == WARM_MAKE)
		return make_warm(r, &step->kind, err);
	if (step->what == WARM_REMOVE)
		return remove_warm(r, step->name, err);
	if (step->what == WARM_SUSPEND)
		return kubernetes_suspend_ended(r, step->name, err);
	if (clock_monotonic_ms() < *remains_at)
		return 0;
	*remains_at = deadline_after(REMAINS_EVERY_MS);
	return remove_remains(r, OBJECT_CLAIM, err) < 0 ? -1
	                                                : remove_remains(r, OBJECT_POLICY, err);
}

/* False: the provider is closed. A change of any pod ends the wait. */
static bool await_step(struct kubernetes *k, struct warm_step *ret)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	int64_t until = deadline_after(LOOK_MS);

	while ((*ret = find_step(k)).what == WARM_WAIT && !k->is_closing &&
	       clock_monotonic_ms() < until)
		thread_wait(&k->changed, &k->mutex, until);
	return !k->is_closing;
}

static void *run_warm(void *argument)
{
	struct remote *r = argument;
	struct kubernetes *k = as_kubernetes(r);
	int64_t pause_ms = RETRY_MS, remains_at = 0;
	struct warm_step step;

	while (await_step(k, &step)) {
		struct error err = {0};

		if (take_step(r, &step, &remains_at, &err) == 0) {
			pause_ms = RETRY_MS;
			continue;
		}
		log_warning("pods of a cluster are not as they should be",
		            TEXT("provider", r->name), FAILURE(&err));
		kubernetes_follow_pause(k, pause_ms);
		pause_ms = pause_ms * 2 < RETRY_MAX_MS ? pause_ms * 2 : RETRY_MAX_MS;
	}
	return NULL;
}

int kubernetes_warm_open(struct remote *r, struct error *err)
{
	struct kubernetes *k = as_kubernetes(r);

	errno = thread_start(&k->warm_thread, NULL, run_warm, r);
	if (errno)
		return FAIL_ERRNO(err, "start a thread");
	k->has_warm_thread = true;
	return 0;
}

void kubernetes_warm_finish(struct remote *r)
{
	struct kubernetes *k = as_kubernetes(r);

	if (k && k->has_warm_thread)
		pthread_join(k->warm_thread, NULL);
	if (k)
		k->has_warm_thread = false;
}

static bool report_warm(struct provider *p, struct provider_warm *ret)
{
	struct kubernetes *k = as_kubernetes(as_remote(p));
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	const char *name;
	size_t at = 0;

	*ret = (struct provider_warm){.hits = k->warm_hits, .misses = k->warm_misses};
	for (const struct pod_state *pod; (pod = map_next(&k->pods, &at, &name));) {
		bool is_warm = pod->warm[0] && !pod->is_taken && !pod->is_leaving;

		ret->ready += is_warm && pod->phase == POD_RUNNING;
		ret->starting += is_warm && pod->phase == POD_PENDING;
	}
	for (size_t i = 0; i < COUNT_OF(k->warm_kinds); i++)
		if (k->warm_kinds[i].asked_ms)
			ret->wanted += (unsigned)k->options->warm_pods;
	return k->options->warm_pods > 0;
}

/* The name of the pod is known from before; its node is that of the pod which runs now. */
static bool report_place(struct provider *p, const char *id, struct provider_place *ret)
{
	struct kubernetes *k = as_kubernetes(as_remote(p));

	if (!remote_place(p, id, ret))
		return false;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&k->mutex);
	const struct pod_state *pod = map_find(&k->pods, ret->object);
	if (pod)
		(void)snprintf(ret->node, sizeof(ret->node), "%s", pod->node);
	return true;
}

const struct report_ops kubernetes_reports = {.warm = report_warm, .place = report_place};
