/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "http/client/async.h"
#include "json/json.h"
#include "provider/kubernetes/kubernetes.h"

#define TRIES_MAX 6
#define PAUSE_MS 50 /* before a second try; doubles */
#define CONFLICT 409

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
	int64_t pause_ms = PAUSE_MS;

	for (unsigned tries = 1;; tries++) {
		int status = try_change(r, call, err);

		if (status != 0)
			return status;
		if (tries == TRIES_MAX || clock_monotonic_ms() + pause_ms >= call->deadline)
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
	static const int gone_is_fine[] = {404, 0};
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
