/* SPDX-License-Identifier: Apache-2.0 */
/* provider/kubernetes/kubernetes.h — sandboxes as pods of a Kubernetes cluster. Private to
 * provider/.
 *
 * A sandbox is a pod, a NetworkPolicy and, where files outlive a stop, a PersistentVolumeClaim for
 * its home: three objects of one name. Their labels say which server has them and for which
 * sandbox, so that the API server's lists are the truth (provider/remote/). The agent comes by an
 * init container, and is reached through the API server alone (stream.c): no node is.
 *
 * Source of the protocol: https://kubernetes.io/docs/reference/using-api/api-concepts/ */
#pragma once

#include <pthread.h>

#include "base/list.h"
#include "base/map.h"
#include "provider/kubernetes/access.h"
#include "provider/kubernetes/pod.h"
#include "provider/remote/parts.h"

#define KUBERNETES_LIST_MAX ((size_t)64 << 20) /* bytes of a list of objects */
#define KUBERNETES_KEEP_S (7 * 86400) /* after its last use an abandoned sandbox is removed */
#define KUBERNETES_TITLE "Kubernetes"
#define KUBERNETES_IMAGE_MAX 512
#define KUBERNETES_SANDBOX_GROUP "agents.x-k8s.io/v1beta1"
#define KUBERNETES_SNAPSHOT_GROUP "snapshot.storage.k8s.io/v1"
#define KUBERNETES_SNAPSHOT_DEFAULT "default" /* the class that the cluster chooses */
#define KUBERNETES_WARM_KINDS 4               /* shapes of warm pods at a time */

#define NOTE_EPOCH "atoll.epoch"
#define NOTE_SHUTDOWN "atoll.shutdown-time"

/* The kinds of objects of a sandbox, in the order in which a create makes them. Where the cluster
 * has the kind Sandbox, its controller makes the pod (agent_sandbox.c). */
enum object_kind { OBJECT_POLICY, OBJECT_CLAIM, OBJECT_POD, OBJECT_SANDBOX, OBJECT_KINDS };

/* Whether the cluster has the kind Sandbox, and this server may use it. */
enum sandbox_kind { SANDBOX_KIND_UNKNOWN, SANDBOX_KIND_ABSENT, SANDBOX_KIND_PRESENT };

struct kubernetes {
	const struct kubernetes_options *options;
	struct arena arena;
	struct cluster_access access;
	atomic_bool class_is_checked;
	_Atomic(enum sandbox_kind) sandbox_kind;

	pthread_t thread, warm_thread; /* of follow.c and warm.c */
	bool has_thread, has_warm_thread;
	pthread_mutex_t mutex; /* guards all below */
	pthread_cond_t changed;
	struct map pods;   /* name -> struct pod_state, in memory of its own */
	struct list waits; /* struct pod_wait */
	struct map ended;  /* name -> start of a pod that was deleted (agent_sandbox.c), a text */
	bool is_closing, is_listed;
	bool watch_has_ended, watch_has_failed, wants_list;
	struct warm_kind {
		char shape[KUBERNETES_SHAPE_SIZE + 1];
		char image[KUBERNETES_IMAGE_MAX];
		struct sandbox_resources limits;
		int64_t asked_ms; /* monotonic; 0 = the place is free */
	} warm_kinds[KUBERNETES_WARM_KINDS];
	uint64_t warm_hits, warm_misses;
	char version[32];        /* resourceVersion of the last event */
	struct buf line;         /* of the watch: what has come of the next event */
	uint64_t watches, lists; /* since the provider was opened */
};

static inline struct kubernetes *as_kubernetes(const struct remote *r)
{
	return r->state;
}

/* kubernetes.c: the path of an object; `name` NULL: of all of its kind. In the arena. */
const char *kubernetes_path(const struct remote *r, struct arena *a, enum object_kind kind,
                            const char *name);

/* kubernetes.c: calls that change objects. The API server answers 409 also when two changes meet:
 * then the call is repeated. Returns the status; 409: one of this name exists already. */
MUST_CHECK int kubernetes_change(struct remote *r, const struct remote_call *call,
                                 struct error *err);
/* 0: it is made; 1: one of its name exists already. */
MUST_CHECK int kubernetes_post(struct remote *r, enum object_kind kind, struct span body,
                               int64_t deadline, struct error *err);
/* Succeeds when it is gone already. */
MUST_CHECK int kubernetes_delete(struct remote *r, enum object_kind kind, const char *name,
                                 int grace_s, int64_t deadline, struct error *err);

/* warm.c: pods that run before a sandbox is asked for. A create claims one by its label; a thread
 * makes others, of the shapes (image, limits) that were asked for last. */
MUST_CHECK int kubernetes_warm_open(struct remote *r, struct error *err);
void kubernetes_warm_finish(struct remote *r);
/* 1: the sandbox has got one, which runs; 0: there is none. */
MUST_CHECK int kubernetes_warm_claim(struct remote *r, const struct sandbox_spec *spec,
                                     int64_t deadline, struct remote_sandbox *s, struct error *err);

extern const struct report_ops kubernetes_reports;

/* sweep.c: on the thread of follow.c. */
void kubernetes_sweep(struct remote *r);

/* objects.c: what the API server is asked to make. The three objects of a sandbox have one name:
 * its id's, or that of the warm pod that it has got. */
struct pod_wish {
	const struct sandbox_spec *spec;
	const char *name;
	const char *warm;          /* the shape of a pod without a sandbox; NULL: it has one */
	const char *image, *token; /* of a pod alone */
	const char *start;         /* of a pod that a Sandbox object has: pod_state.start */
	const char *source;        /* of a new home: the VolumeSnapshot it begins with, or NULL */
	int64_t home_mb;           /* at least; 0 = the disk of the specification */
};
void kubernetes_name(const char *id, char out[KUBERNETES_NAME_MAX]);
void kubernetes_write_pod(const struct remote *r, struct buf *out, const struct pod_wish *wish);
void kubernetes_write_claim(const struct remote *r, struct buf *out, const struct pod_wish *wish);
void kubernetes_write_sandbox(const struct remote *r, struct buf *out, const struct pod_wish *wish);
/* The member `spec` of a Sandbox object, as the value of the member `name`. */
void kubernetes_write_sandbox_spec(const struct remote *r, struct buf *out, const char *name,
                                   const struct pod_wish *wish);
/* ERROR_UNSUPPORTED for rules that name hosts. */
MUST_CHECK int kubernetes_write_policy(const struct remote *r, struct buf *out,
                                       const struct pod_wish *wish, struct error *err);
/* Refuses a network that the provider cannot give. */
MUST_CHECK int kubernetes_check_rules(const struct remote *r, const struct sandbox_spec *spec,
                                      struct error *err);
bool kubernetes_keeps_home(const struct kubernetes_options *options);
void kubernetes_shutdown_text(char out[32]);

/* kubernetes.c: the first two objects; the third one is the pod. */
MUST_CHECK int kubernetes_replace_policy(struct remote *r, const struct pod_wish *wish,
                                         int64_t deadline, struct error *err);
MUST_CHECK int kubernetes_make_policy(struct remote *r, const struct pod_wish *wish,
                                      int64_t deadline, struct error *err);
MUST_CHECK int kubernetes_make_claim(struct remote *r, const struct pod_wish *wish,
                                     int64_t deadline, struct error *err);

/* follow.c: a thread that lists and watches the pods of this server. */
MUST_CHECK int kubernetes_follow_open(struct remote *r, struct error *err);
void kubernetes_follow_finish(struct remote *r);
/* Returns early when the provider is closed. */
void kubernetes_follow_pause(struct kubernetes *k, int64_t ms);
/* An answer of a call came before its event. */
void kubernetes_note_pod(struct remote *r, const struct pod_state *pod);
/* A call that makes a pod and waits for it to run. It begins before the pod is made, so that it
 * sees also the end of a pod that is deleted at once. */
struct pod_wait {
	struct list item;
	const char *name;
	int64_t made_ms; /* monotonic; 0 = it is not made yet */
	bool is_gone;    /* it was deleted */
};
void kubernetes_wait_begin(struct remote *r, struct pod_wait *wait, const char *name);
void kubernetes_wait_end(struct remote *r, struct pod_wait *wait);
/* The pod is made: its answer came before its event. */
void kubernetes_wait_made(struct remote *r, struct pod_wait *wait, const struct pod_state *pod);
/* Waits until the pod runs. ERROR_UNAVAILABLE, or ERROR_LIMIT, with the cluster's words when it
 * cannot. */
MUST_CHECK int kubernetes_await_running(struct remote *r, const struct pod_wait *wait,
                                        int64_t deadline, struct error *err);
/* What of a pod a call waits for. */
enum pod_step { POD_STEP_MADE, POD_STEP_LEAVING, POD_STEP_ENDED, POD_STEP_GONE };
/* Whether it has come by the deadline. A pod that is gone has also ended and left. */
bool kubernetes_await_step(struct remote *r, const char *name, enum pod_step step,
                           int64_t deadline);

/* agent_sandbox.c: the kind Sandbox of the project agent-sandbox. Its controller makes the pod of
 * each Sandbox object, with the object's name, deletes the pod of a suspended one, and deletes what
 * is past its shutdownTime. */
/* Asks the API server whether the kind is there. Any thread. */
MUST_CHECK int kubernetes_find_sandbox_kind(struct remote *r, int64_t deadline, struct error *err);
/* 1: sandboxes have Sandbox objects; 0: their pods are made by this server. Asks only while that is
 * not known. */
MUST_CHECK int kubernetes_has_sandbox_kind(struct remote *r, int64_t deadline, struct error *err);
/* Makes the object, or changes what an earlier start has left, so that its pod runs as `wish` says.
 * Only an object of this sandbox is changed, and only with this or an older lease epoch. */
MUST_CHECK int kubernetes_put_sandbox(struct remote *r, struct pod_wish *wish, int64_t deadline,
                                      struct error *err);
/* Puts it, and waits until its pod runs. */
MUST_CHECK int kubernetes_run_sandbox(struct remote *r, struct pod_wish *wish,
                                      const struct pod_wait *wait, int64_t deadline,
                                      struct error *err);
/* From now on the controller makes no pod again. Succeeds when there is no such object. */
MUST_CHECK int kubernetes_suspend_sandbox(struct remote *r, const char *name, int64_t deadline,
                                          struct error *err);
/* The pod was deleted, by whomever: unless it was started again since, its sandbox is suspended,
 * because the controller would make an empty pod. Called with the mutex held. */
void kubernetes_note_ended(struct kubernetes *k, const struct pod_state *pod);
/* Suspends the sandbox of one such pod. */
MUST_CHECK int kubernetes_suspend_ended(struct remote *r, const char *name, struct error *err);
/* The label by which the controller finds pods, for a value of a JSON patch. */
#define SANDBOX_LABEL_PATH "/metadata/labels/agents.x-k8s.io~1sandbox-name-hash"
void kubernetes_sandbox_hash(const char *name, char ret[9]);

/* snapshots.c */
extern const struct remote_snapshot_kind kubernetes_snapshots;
/* Fills source and home_mb for a sandbox that is made from a snapshot. In the arena. */
MUST_CHECK int kubernetes_find_source(struct remote *r, struct arena *a, struct pod_wish *wish,
                                      int64_t deadline, struct error *err);

/* stream.c: bytes to a port of a pod. */
extern const struct remote_carrier kubernetes_carrier;
