/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what servers have left that are gone for good: their objects are past the time that each
 * use of a sandbox moves on (NOTE_SHUTDOWN). Any server with access to the namespace does it. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "json/json.h"
#include "provider/kubernetes/kubernetes.h"

#define SWEEP_CALL_MS 30000
#define CLOCK_SPARE_MS (10 * INT64_C(60000)) /* clocks of servers differ */

/* Those of this server are its store's to judge: it renews them when it comes back. */
static bool is_abandoned(const struct remote *r, const struct json_value *metadata)
{
	const char *owner = json_get_text(json_get(metadata, "labels"), LABEL_SERVER, "");
	const char *until = json_get_text(json_get(metadata, "annotations"), NOTE_SHUTDOWN, "");
	int64_t until_ms;

	return *owner && strcmp(owner, r->server) != 0 &&
	       json_time_parse(span_of(until), &until_ms) &&
	       until_ms + CLOCK_SPARE_MS < clock_unix_ms();
}

/* Only as it was listed: one that is renewed meanwhile has another version, and stays. */
static int remove_abandoned(struct remote *r, enum object_kind kind,
                            const struct json_value *metadata, struct error *err)
{
	static const int moved_on[] = {404, 409, 0};
	AUTO(arena_done) struct arena arena = {0};
	const char *name = json_get_text(metadata, "name", "");
	const char *version = json_get_text(metadata, "resourceVersion", "");
	const struct remote_call call = {
	        .method = "DELETE",
	        .path = kubernetes_path(r, &arena, kind, name),
	        .body = span_of(arena_format(
	                &arena, "{\"preconditions\":{\"resourceVersion\":\"%s\"}}", version)),
	        .accepted = moved_on,
	        .deadline = deadline_after(SWEEP_CALL_MS)};

	log_warning("an abandoned object of a cluster is removed", TEXT("name", name),
	            TEXT("provider", r->name));
	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

static int sweep_kind(struct remote *r, enum object_kind kind, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *list, *items;
	const struct remote_call call = {
	        .method = "GET",
	        .path = arena_format(&arena, "%s?labelSelector=" LABEL_SERVER,
	                             kubernetes_path(r, &arena, kind, NULL)),
	        .answer_max = KUBERNETES_LIST_MAX,
	        .deadline = deadline_after(SWEEP_CALL_MS)};

	if (remote_call_load(r, &call, &arena, &list, err) < 0)
		return -1;
	items = json_get(list, "items");
	for (size_t i = 0; i < json_count(items); i++) {
		const struct json_value *metadata = json_get(json_item_at(items, i), "metadata");

		if (is_abandoned(r, metadata) && remove_abandoned(r, kind, metadata, err) < 0)
			return -1;
	}
	return 0;
}

void kubernetes_sweep(struct remote *r)
{
	struct error err = {0};
	int has_kind = kubernetes_has_sandbox_kind(r, deadline_after(SWEEP_CALL_MS), &err);

	for (enum object_kind kind = OBJECT_KINDS; has_kind >= 0 && kind-- > 0;)
		if ((kind != OBJECT_SANDBOX || has_kind > 0) && sweep_kind(r, kind, &err) < 0) {
			log_debug("abandoned objects are not swept", TEXT("provider", r->name),
			          FAILURE(&err));
			return;
		}
}
