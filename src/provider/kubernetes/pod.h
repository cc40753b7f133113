/* SPDX-License-Identifier: Apache-2.0 */
/* provider/kubernetes/pod.h — what the API server says of a pod. Private to provider/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

struct json_value;

#define KUBERNETES_NAME_MAX 64
#define KUBERNETES_PREFIX "atoll-" /* of a sandbox's objects; its id follows */
#define KUBERNETES_TEXT_MAX 400

enum pod_phase { POD_ABSENT, POD_PENDING, POD_RUNNING, POD_ENDED };

/* What the API server says of a pod, as a copy. */
struct pod_state {
	char name[KUBERNETES_NAME_MAX];
	enum pod_phase phase;
	bool is_leaving; /* a delete has begun */
	bool is_stuck;   /* it cannot start: its image or its container is at fault */
	bool lacks_node; /* no node takes it */
	char problem[KUBERNETES_TEXT_MAX];
	enum sandbox_reason ended;
	int64_t started_unix_ms;
};

/* Reads a pod of the API. False: it is none of this server. */
bool kubernetes_read_pod(const struct json_value *pod, struct pod_state *ret);
