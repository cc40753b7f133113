/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what the API server says of a pod. */
#include "provider/kubernetes/pod.h"

#include <stdio.h>
#include <string.h>

#include "json/json.h"

/* Reasons of a waiting container that more waiting does not cure. */
static const char *const stuck_reasons[] = {
        "ImagePullBackOff",           "ErrImageNeverPull",    "InvalidImageName",
        "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
        "CrashLoopBackOff",
};

static bool is_stuck_reason(const char *reason)
{
	for (size_t i = 0; i < COUNT_OF(stuck_reasons); i++)
		if (strcmp(reason, stuck_reasons[i]) == 0)
			return true;
	return false;
}

static void note_problem(struct pod_state *p, const char *where, const char *reason,
                         const char *message)
{
	(void)snprintf(p->problem, sizeof(p->problem), "%s%s%s%s%s", where, *where ? ": " : "",
	               reason, *message ? ": " : "", message);
	for (char *at = p->problem; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
}

static void read_waiting(const struct json_value *status, struct pod_state *p)
{
	const struct json_value *waiting = json_get(json_get(status, "state"), "waiting");
	const char *reason = json_get_text(waiting, "reason", "");

	if (!waiting || !is_stuck_reason(reason))
		return;
	p->is_stuck = true;
	note_problem(p, json_get_text(status, "name", ""), reason,
	             json_get_text(waiting, "message", ""));
}

static void read_end(const struct json_value *status, struct pod_state *p)
{
	const struct json_value *end = json_get(json_get(status, "state"), "terminated");
	const char *reason = json_get_text(end, "reason", "");

	if (!end)
		return;
	if (strcmp(reason, "OOMKilled") == 0)
		p->ended = SANDBOX_REASON_OOM;
	if (json_get_whole(end, "exitCode", 0) != 0 && !*p->problem)
		note_problem(p, json_get_text(status, "name", ""), reason,
		             json_get_text(end, "message", ""));
}

static void read_containers(const struct json_value *list, struct pod_state *p)
{
	for (size_t i = 0; i < json_count(list); i++) {
		read_waiting(json_item_at(list, i), p);
		read_end(json_item_at(list, i), p);
	}
}

static bool main_runs(const struct json_value *list, struct pod_state *p)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *item = json_item_at(list, i);
		const struct json_value *running = json_get(json_get(item, "state"), "running");

		if (strcmp(json_get_text(item, "name", ""), "main") != 0 || !running)
			continue;
		if (!json_time_parse(span_of(json_get_text(running, "startedAt", "")),
		                     &p->started_unix_ms))
			p->started_unix_ms = 0;
		return true;
	}
	return false;
}

/* In the scheduler's words, for which it has no code, while the storage makes the volume of a
 * claim, or while the scheduler has not heard of a new claim: "pod has unbound immediate
 * PersistentVolumeClaims", "persistentvolumeclaim "NAME" not found". */
#define AWAITS_VOLUME "persistentvolumeclaim"

static void read_conditions(const struct json_value *list, struct pod_state *p)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *c = json_item_at(list, i);

		if (strcmp(json_get_text(c, "type", ""), "PodScheduled") != 0 ||
		    strcmp(json_get_text(c, "status", ""), "False") != 0)
			continue;
		const char *message = json_get_text(c, "message", "");
		p->lacks_node = strcasestr(message, AWAITS_VOLUME) == NULL;
		note_problem(p, "", "no node takes it", message);
	}
}

static void read_phase(const struct json_value *status, struct pod_state *p)
{
	const char *phase = json_get_text(status, "phase", "Pending");
	const char *reason = json_get_text(status, "reason", "");

	read_containers(json_get(status, "initContainerStatuses"), p);
	read_containers(json_get(status, "containerStatuses"), p);
	p->phase = POD_PENDING;
	if (strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0) {
		p->phase = POD_ENDED;
		if (p->ended == SANDBOX_REASON_NONE)
			p->ended = SANDBOX_REASON_EXIT;
		if (*reason)
			note_problem(p, "", reason, json_get_text(status, "message", ""));
	} else if (main_runs(json_get(status, "containerStatuses"), p)) {
		p->phase = POD_RUNNING;
	} else {
		read_conditions(json_get(status, "conditions"), p);
	}
}

static void read_labels(const struct json_value *labels, struct pod_state *p)
{
	const char *sandbox = json_get_text(labels, LABEL_SANDBOX, "");
	const char *warm = json_get_text(labels, LABEL_WARM, "");

	if (id_is_valid(sandbox))
		memcpy(p->sandbox, sandbox, sizeof(p->sandbox));
	else if (strlen(warm) == KUBERNETES_SHAPE_SIZE)
		memcpy(p->warm, warm, sizeof(p->warm));
}

static void read_start(const struct json_value *metadata, struct pod_state *p)
{
	const char *start = json_get_text(json_get(metadata, "annotations"), NOTE_START, "");

	if (id_is_valid(start))
		memcpy(p->start, start, sizeof(p->start));
	(void)snprintf(p->uid, sizeof(p->uid), "%s", json_get_text(metadata, "uid", ""));
}

bool kubernetes_read_pod(const struct json_value *pod, struct pod_state *ret)
{
	const struct json_value *metadata = json_get(pod, "metadata");
	const char *name = json_get_text(metadata, "name", "");

	*ret = (struct pod_state){.phase = POD_PENDING};
	if (!*name || strlen(name) >= sizeof(ret->name))
		return false;
	memcpy(ret->name, name, strlen(name) + 1);
	ret->is_leaving = json_get(metadata, "deletionTimestamp") != NULL;
	if (!json_time_parse(span_of(json_get_text(metadata, "creationTimestamp", "")),
	                     &ret->made_unix_ms))
		ret->made_unix_ms = 0;
	read_labels(json_get(metadata, "labels"), ret);
	read_start(metadata, ret);
	(void)snprintf(ret->node, sizeof(ret->node), "%s",
	               json_get_text(json_get(pod, "spec"), "nodeName", ""));
	read_phase(json_get(pod, "status"), ret);
	return true;
}
