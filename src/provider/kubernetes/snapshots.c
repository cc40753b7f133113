/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of homes as VolumeSnapshots:
 * https://kubernetes.io/docs/concepts/storage/volume-snapshots/ The cluster's storage driver keeps
 * them. A sandbox that is made from one has a claim whose data source it is. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "http/client/async.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/compute.h"
#include "provider/kubernetes/kubernetes.h"
#include "provider/kubernetes/quantity.h"
#include "provider/remote/snapshots.h"
#include "wire/agent.h"
#include "wire/agent_machine.h"

#define BODY_MAX ((size_t)1 << 16)
#define SYNC_MS 30000 /* to write the files of a sandbox that runs to its volume */
#define LOOK_FIRST_MS 50
#define LOOK_MAX_MS 1000
#define NOT_FOUND 404

static const int absent_is_fine[] = {NOT_FOUND, 0};

static const char *snapshot_path(const struct remote *r, struct arena *a, const char *name)
{
	return arena_format(a,
	                    "/apis/" KUBERNETES_SNAPSHOT_GROUP "/namespaces/%s/volumesnapshots%s%s",
	                    as_kubernetes(r)->access.namespace, *name ? "/" : "", name);
}

static int refuse_snapshots(const struct remote *r, struct error *err)
{
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "provider '%s' cannot do this: its cluster has no kind VolumeSnapshot of '%s'",
	           r->name, KUBERNETES_SNAPSHOT_GROUP);
	return FAIL_HINT(err, "install the snapshot controller of Kubernetes, or set "
	                      "kubernetes_snapshot_class to none");
}

static void write_snapshot(const struct remote *r, struct buf *out, const char *claim,
                           const char *snapshot, const char *name)
{
	const char *class = as_kubernetes(r)->options->snapshot_class;

	json_begin_object(out, NULL);
	json_add_text(out, "apiVersion", KUBERNETES_SNAPSHOT_GROUP);
	json_add_text(out, "kind", "VolumeSnapshot");
	json_begin_object(out, "metadata");
	json_add_text(out, "name", name);
	json_begin_object(out, "labels");
	json_add_text(out, "app.kubernetes.io/managed-by", "atoll");
	json_add_text(out, LABEL_SERVER, r->server);
	json_add_text(out, LABEL_SNAPSHOT, snapshot);
	json_end_object(out);
	json_end_object(out);
	json_begin_object(out, "spec");
	if (strcmp(class, KUBERNETES_SNAPSHOT_DEFAULT) != 0)
		json_add_text(out, "volumeSnapshotClassName", class);
	json_begin_object(out, "source");
	json_add_text(out, "persistentVolumeClaimName", claim);
	json_end_object(out);
	json_end_object(out);
	json_end_object(out);
}

/* What programs have written is in the node's memory first. */
static int sync_home(struct remote *r, const char *id, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct agent_identity request = {.hostname = "", .only_syncs = 1};
	const struct compute_call call = {
	        .type = AGENT_IDENTITY, .shape = agent_identity_shape, .message = &request};
	int64_t until = deadline_after(SYNC_MS);

	if (compute_call(&r->base, id, &arena, &call, until < deadline ? until : deadline, err) ==
	    0)
		return 0;
	err->code = ERROR_UNAVAILABLE;
	(void)FAIL_CONTEXT(err, "write the files of sandbox '%s' to its volume", id);
	return FAIL_HINT(err, "stop the sandbox; its snapshot then has all files");
}

static int load_snapshot(struct remote *r, struct arena *a, const char *snapshot, int64_t deadline,
                         const struct json_value **ret, struct error *err)
{
	char name[REMOTE_SNAPSHOT_NAME_SIZE];

	remote_snapshot_name(r, snapshot, name);
	const struct remote_call call = {
	        .method = "GET", .path = snapshot_path(r, a, name), .deadline = deadline};
	return remote_call_load(r, &call, a, ret, err);
}

static int await_snapshot(struct remote *r, const char *snapshot, int64_t deadline,
                          struct error *err)
{
	int64_t pause_ms = LOOK_FIRST_MS;

	for (;;) {
		AUTO(arena_done) struct arena arena = {0};
		const struct json_value *found, *status;
		const char *why;

		if (load_snapshot(r, &arena, snapshot, deadline, &found, err) < 0)
			return -1;
		status = json_get(found, "status");
		why = json_get_text(json_get(status, "error"), "message", "");
		if (json_get_bool(status, "readyToUse", false))
			return 0;
		if (*why)
			return FAIL(err, ERROR_UNAVAILABLE,
			            "provider '%s': the cluster takes no snapshot: %.300s", r->name,
			            why);
		if (clock_monotonic_ms() >= deadline || as_kubernetes(r)->is_closing)
			return FAIL(err, ERROR_TIMEOUT,
			            "provider '%s': the cluster's snapshot is not ready yet",
			            r->name);
		kubernetes_follow_pause(as_kubernetes(r), pause_ms);
		pause_ms = pause_ms * 2 < LOOK_MAX_MS ? pause_ms * 2 : LOOK_MAX_MS;
	}
}

static int take_snapshot(struct remote *r, const struct remote_sandbox *s, const char *snapshot,
                         int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	char name[REMOTE_SNAPSHOT_NAME_SIZE];

	if (s->state == REMOTE_RUNNING && sync_home(r, s->id, deadline, err) < 0)
		return -1;
	remote_snapshot_name(r, snapshot, name);
	write_snapshot(r, &body, s->remote_id, snapshot, name);
	const struct remote_call call = {.method = "POST",
	                                 .path = snapshot_path(r, &arena, ""),
	                                 .body = buf_span(&body),
	                                 .accepted = absent_is_fine,
	                                 .deadline = deadline};
	int status = kubernetes_change(r, &call, err);
	if (status < 0)
		return -1;
	return status == NOT_FOUND ? refuse_snapshots(r, err)
	                           : await_snapshot(r, snapshot, deadline, err);
}

static int remove_snapshot(struct remote *r, const char *snapshot, int64_t deadline,
                           struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	char name[REMOTE_SNAPSHOT_NAME_SIZE];

	remote_snapshot_name(r, snapshot, name);
	const struct remote_call call = {.method = "DELETE",
	                                 .path = snapshot_path(r, &arena, name),
	                                 .accepted = absent_is_fine,
	                                 .deadline = deadline};
	return kubernetes_change(r, &call, err) < 0 ? -1 : 0;
}

/* A cluster without the kind has no snapshots: they go with the kind's definition. */
static int list_snapshots(struct remote *r, struct arena *a, int64_t deadline,
                          struct provider_list *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct remote_call call = {
	        .method = "GET",
	        .path = arena_format(&arena, "%s?labelSelector=" LABEL_SERVER "%%3D%s",
	                             snapshot_path(r, &arena, ""), r->server),
	        .accepted = absent_is_fine,
	        .answer_max = KUBERNETES_LIST_MAX,
	        .deadline = deadline};
	struct http_async_answer answer;
	const struct json_value *list, *items;
	struct provider_list found = {0};
	size_t capacity = 0;

	if (remote_call(r, &call, &answer, err) < 0)
		return -1;
	bool is_absent = answer.status == NOT_FOUND;
	int status = json_load(&arena, buf_span(&answer.body), &list, err);
	buf_done(&answer.body);
	items = status == 0 ? json_get(list, "items") : NULL;
	if (!items && !is_absent)
		return FAIL(err, ERROR_UNAVAILABLE, "%s lists no snapshots", KUBERNETES_TITLE);
	error_clear(err);
	for (size_t i = 0; items && i < json_count(items); i++)
		remote_snapshot_note(
		        r, a,
		        json_get_text(json_get(json_item_at(items, i), "metadata"), "name", ""),
		        &found, &capacity);
	*ret = found;
	return 0;
}

int kubernetes_find_source(struct remote *r, struct arena *a, struct pod_wish *wish,
                           int64_t deadline, struct error *err)
{
	char name[REMOTE_SNAPSHOT_NAME_SIZE];
	const struct json_value *found;

	if (!wish->spec->snapshot)
		return 0;
	if (load_snapshot(r, a, wish->spec->snapshot, deadline, &found, err) < 0)
		return -1;
	remote_snapshot_name(r, wish->spec->snapshot, name);
	wish->source = arena_text(a, name);
	/* A claim that is smaller than this waits for a volume forever. */
	wish->home_mb = quantity_mb(json_get_text(json_get(found, "status"), "restoreSize", "0"));
	return 0;
}

const struct remote_snapshot_kind kubernetes_snapshots = {
        .take = take_snapshot,
        .remove = remove_snapshot,
        .list = list_snapshots,
        .takes_stopped = true,
};
