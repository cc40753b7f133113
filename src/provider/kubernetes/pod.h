/* SPDX-License-Identifier: Apache-2.0 */
/* provider/kubernetes/pod.h — what the API server says of a pod. Private to provider/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "sandbox/sandbox.h"

struct json_value;

#define LABEL_SERVER "atoll.server"
#define LABEL_SANDBOX "atoll.sandbox"
#define LABEL_OWNER "atoll.owner"
#define LABEL_SNAPSHOT "atoll.snapshot"
#define LABEL_WARM "atoll.warm" /* the shape of a pod that no sandbox has yet */
#define LABEL_POD "atoll.pod"   /* the name of one that is made without a sandbox */

#define NOTE_START "atoll.start" /* a new id for each start of a Sandbox object's pod */

#define KUBERNETES_NAME_MAX 64
#define KUBERNETES_UID_MAX 40
#define KUBERNETES_NODE_MAX 254
#define KUBERNETES_PREFIX "atoll-" /* of a sandbox's objects; its id follows */
#define KUBERNETES_SHAPE_SIZE 16
#define KUBERNETES_TEXT_MAX 400

enum pod_phase { POD_ABSENT, POD_PENDING, POD_RUNNING, POD_ENDED };

/* What the API server says of a pod, as a copy. */
struct pod_state {
	char name[KUBERNETES_NAME_MAX];
	char sandbox[ID_SIZE + 1];            /* "" = none: a warm pod */
	char warm[KUBERNETES_SHAPE_SIZE + 1]; /* of a warm pod: its shape (warm.c) */
	char uid[KUBERNETES_UID_MAX];
	char node[KUBERNETES_NODE_MAX]; /* "" = none has taken it yet */
	char start[ID_SIZE + 1];        /* of its Sandbox object; "" = it has none */
	bool is_taken;                  /* a create of this server claims it now */
	enum pod_phase phase;
	bool is_leaving; /* a delete has begun */
	bool is_stuck;   /* it cannot start: its image or its container is at fault */
	bool lacks_node; /* no node takes it, though its volume is there */
	char problem[KUBERNETES_TEXT_MAX];
	enum sandbox_reason ended;
	int64_t made_unix_ms, started_unix_ms;
};

/* Reads a pod of the API. False: it is none of this server. */
bool kubernetes_read_pod(const struct json_value *pod, struct pod_state *ret);
