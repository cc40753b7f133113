/* SPDX-License-Identifier: Apache-2.0 */
/* Daytona takes a snapshot after the call has ended; its state tells when it can be used. */
#include "provider/remote/snapshots.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "http/client/client.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/daytona/daytona.h"

#define PAGE 200
#define PAGES_MAX 100
#define LOOK_FIRST_MS 50
#define LOOK_MAX_MS 1000

static const int gone_is_fine[] = {404, 0};

static int get_snapshot(struct remote *r, struct arena *a, const char *snapshot, int64_t deadline,
                        const struct json_value **ret, struct error *err)
{
	char name[REMOTE_SNAPSHOT_NAME_SIZE];
	struct remote_call call = {.method = "GET", .deadline = deadline};

	remote_snapshot_name(r, snapshot, name);
	call.path = arena_format(a, "/snapshots/%s", name);
	return remote_call_load(r, &call, a, ret, err);
}

static bool is_word_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(word, *words) == 0)
			return true;
	return false;
}

/* States that pass are those that neither list has: a later generation may have more of them. */
static int await_snapshot(struct remote *r, const char *snapshot, int64_t deadline,
                          struct error *err)
{
	static const char *const usable[] = {"active", "inactive", NULL};
	static const char *const failed[] = {"error", "build_failed", "removing", NULL};
	int64_t pause_ms = LOOK_FIRST_MS;

	for (;;) {
		AUTO(arena_done) struct arena arena = {0};
		const struct json_value *found;
		const char *state;

		if (get_snapshot(r, &arena, snapshot, deadline, &found, err) < 0)
			return -1;
		state = json_get_text(found, "state", "?");
		if (is_word_of(state, usable))
			return 0;
		if (is_word_of(state, failed))
			return FAIL(err, ERROR_UNAVAILABLE,
			            "Daytona: the snapshot is '%.40s': %.200s", state,
			            json_get_text(found, "errorReason", "without a reason"));
		if (deadline_poll_ms(deadline) == 0)
			return FAIL(err, ERROR_TIMEOUT, "Daytona: the snapshot is still '%.40s'",
			            state);
		const struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000};
		(void)nanosleep(&pause, NULL);
		pause_ms = pause_ms * 2 < LOOK_MAX_MS ? pause_ms * 2 : LOOK_MAX_MS;
	}
}

static int take_snapshot(struct remote *r, const struct remote_sandbox *s, const char *snapshot,
                         int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(1024);
	char name[REMOTE_SNAPSHOT_NAME_SIZE];

	remote_snapshot_name(r, snapshot, name);
	json_begin_object(&body, NULL);
	json_add_text(&body, "name", name);
	json_end_object(&body);
	const struct remote_call call = {
	        .method = "POST",
	        .path = arena_format(&arena, "/sandbox/%s/snapshot", s->remote_id),
	        .body = buf_span(&body),
	        .is_once = true,
	        .deadline = deadline};
	if (remote_call_do(r, &call, err) < 0)
		return -1;
	return await_snapshot(r, snapshot, deadline, err);
}

static int remove_snapshot(struct remote *r, const char *snapshot, int64_t deadline,
                           struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf path = BUF(4096);
	const struct json_value *found;

	if (get_snapshot(r, &arena, snapshot, deadline, &found, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	buf_add_text(&path, "/snapshots/");
	http_escape(&path, json_get_text(found, "id", ""));
	const struct remote_call call = {.method = "DELETE",
	                                 .path = buf_text(&path),
	                                 .accepted = gone_is_fine,
	                                 .deadline = deadline};
	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

static int list_snapshots(struct remote *r, struct arena *a, int64_t deadline,
                          struct provider_list *ret, struct error *err)
{
	struct provider_list list = {0};
	size_t capacity = 0;

	for (unsigned page = 1; page <= PAGES_MAX; page++) {
		AUTO(arena_done) struct arena arena = {0};
		const struct json_value *root, *items;
		const struct remote_call call = {
		        .method = "GET",
		        .path = arena_format(&arena, "/snapshots?limit=%d&page=%u", PAGE, page),
		        .deadline = deadline};

		if (remote_call_load(r, &call, &arena, &root, err) < 0)
			return -1;
		items = json_get(root, "items");
		for (size_t i = 0; i < json_count(items); i++)
			remote_snapshot_note(r, a,
			                     json_get_text(json_item_at(items, i), "name", ""),
			                     &list, &capacity);
		if ((int64_t)page >= json_get_whole(root, "totalPages", 0)) {
			*ret = list;
			return 0;
		}
	}
	return FAIL(err, ERROR_LIMIT, "Daytona: the list of snapshots has more than %d pages",
	            PAGES_MAX);
}

const struct remote_snapshot_kind daytona_account_snapshots = {
        .take = take_snapshot,
        .remove = remove_snapshot,
        .list = list_snapshots,
};
