/* SPDX-License-Identifier: Apache-2.0 */
/* PATCH /api/sandbox/instances/:id — changes settings of a sandbox. */
#include <string.h>

#include "base/clock.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/settings.h"
#include "store/sandbox_record.h"
#include "surface/native/native.h"
#include "surface/native/sandbox_answer.h"
#include "surface/native/timeouts.h"

/* The timeouts come first, in the order of enum sandbox_timeout. */
struct sandbox_patch_body {
	struct sandbox_timeouts timeouts;
	const char *name;
	struct json_map labels;
	bool persistent;
	int64_t timeout_ms, version;
	uint64_t present;
};
enum { PATCH_NAME = SANDBOX_TIMEOUT_COUNT, PATCH_LABELS, PATCH_PERSISTENT, PATCH_TIMEOUT };
#define PATCH_TIMEOUT_ROW(stem, off, api, short_, option, about, s)                                \
	TIMEOUT_ROW_(offsetof(struct s, timeouts.stem##_ms), FIXED, api, TIMEOUT_MAX_MS,           \
	             about "; 0: never")
static const struct json_member sandbox_patch_members[] = {
        SANDBOX_TIMEOUTS(PATCH_TIMEOUT_ROW, sandbox_patch_body),
        [PATCH_NAME] = JSON_TEXT_MEMBER(sandbox_patch_body, name, .min = 1, .max = SANDBOX_NAME_MAX,
                                        .about = "unique in the project"),
        [PATCH_LABELS] =
                JSON_TEXT_MAP_MEMBER(sandbox_patch_body, labels, .max = SANDBOX_LABELS_MAX,
                                     .about = "replace all labels; those that the server sets, "
                                              "atoll.*, stay"),
        [PATCH_PERSISTENT] =
                JSON_BOOL_MEMBER(sandbox_patch_body, persistent,
                                 .about = "the idle timeout does not delete the sandbox"),
        [PATCH_TIMEOUT] = JSON_WHOLE_MEMBER(
                sandbox_patch_body, timeout_ms, .min = 0, .max = TIMEOUT_MAX_MS,
                .about = "time from now at which an ephemeral sandbox is deleted and a persistent "
                         "one stopped, with its files kept; 0: never"),
        JSON_WHOLE_MEMBER(sandbox_patch_body, version, .min = 1,
                          .about = "change it only if it has this version, else 409; the header "
                                   "If-Match does the same"),
};
static JSON_BITS_SHAPE(sandbox_patch, "SandboxUpdate", sandbox_patch_body,
                       "Settings to change; omitted members stay as they are");

/* 7, "7" or W/"7"; the header * stands for any version. */
static int parse_match(const struct request *rq, int64_t *ret, struct error *err)
{
	const char *match = request_header(rq, "If-Match");
	struct span text = span_trim(span_of(match));

	if (!match || span_equals_text(text, "*"))
		return 0;
	if (span_starts_with(text, "W/"))
		span_skip(&text, 2);
	if (text.size > 2 && text.data[0] == '"' && text.data[text.size - 1] == '"')
		text = (struct span){text.data + 1, text.size - 2};
	if (span_parse_whole(text, 1, INT64_MAX, ret, err) < 0) {
		(void)FAIL(err, ERROR_INVALID, "If-Match: '%.40s' is not a version", match);
		return FAIL_HINT(err, "the member version of the sandbox, such as \"7\"");
	}
	return 0;
}

static int choose_version(const struct request *rq, const struct sandbox_patch_body *b,
                          int64_t *ret, struct error *err)
{
	int64_t match = 0;

	if (parse_match(rq, &match, err) < 0)
		return -1;
	if (match && b->version && match != b->version)
		return FAIL(err, ERROR_INVALID, "version and If-Match contradict each other");
	*ret = match ? match : b->version;
	return 0;
}

static void fill_change(const struct sandbox_patch_body *b, struct fleet_settings *ret)
{
	for (unsigned i = 0; i < SANDBOX_TIMEOUT_COUNT; i++)
		if (row_is_given(b->present, i))
			sandbox_timeout_set(&ret->timeouts, i,
			                    sandbox_timeout_get(&b->timeouts, i));
	if (row_is_given(b->present, PATCH_NAME))
		ret->name = b->name;
	if (row_is_given(b->present, PATCH_LABELS))
		ret->labels = &b->labels;
	if (row_is_given(b->present, PATCH_PERSISTENT))
		ret->persistent = b->persistent;
	if (row_is_given(b->present, PATCH_TIMEOUT))
		ret->timeout_at = b->timeout_ms > 0 ? clock_unix_ms() + b->timeout_ms : 0;
}

static int sandbox_patch_one(struct request *rq, const void *body, struct reply *reply,
                             struct error *err)
{
	const struct sandbox_patch_body *b = body;
	const uint64_t settings = (UINT64_C(1) << (PATCH_TIMEOUT + 1)) - 1;
	struct fleet_settings change = FLEET_SETTINGS_LEAVE;
	const struct fleet_ref ref = api_path_ref(rq);
	struct sandbox_record record;

	if (!(b->present & settings))
		return FAIL(err, ERROR_INVALID, "no setting is given");
	fill_change(b, &change);
	if (choose_version(rq, b, &change.version, err) < 0 ||
	    fleet_set(api_of(rq)->fleet, rq->arena, &ref, &change, &record, err) < 0)
		return -1;
	return sandbox_reply_with_relations(rq, reply, &record, err);
}

const struct route sandbox_patch_routes[] = {
        {HTTP_PATCH, "/api/sandbox/instances/:id", SCOPE_SANDBOX_WRITE, ROUTE_NEEDS_BODY,
         .body = &sandbox_patch, .answer = &sandbox_shape, .handle = sandbox_patch_one,
         .tag = "sandboxes", .summary = "Change the name, labels and timeouts of a sandbox"},
        {.path = NULL},
};
