/* SPDX-License-Identifier: Apache-2.0 */
/* E2B's snapshots are templates. Their ids in the account are TEAM/NAME:TAG, and only the list
 * tells the team. */
#include "provider/remote/snapshots.h"

#include <stdio.h>

#include "http/client/async.h"
#include "http/client/client.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/e2b/e2b.h"

#define PAGE 100
#define PAGES_MAX 200

static const int gone_is_fine[] = {404, 0};

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
	        .path = arena_format(&arena, "/sandboxes/%s/snapshots", s->remote_id),
	        .body = buf_span(&body),
	        .is_once = true,
	        .deadline = deadline};
	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

struct e2b_snapshot_pages {
	struct remote *remote;
	struct arena *arena;
	const char *name; /* NULL = all */
	/* Of each page. */
	void (*take_page)(struct e2b_snapshot_pages *pages, const struct json_value *list);
	const char *service_id; /* of the named one; NULL: there is none */
	struct provider_list list;
	size_t capacity;
};

static const char *page_path(const struct e2b_snapshot_pages *pages, struct arena *a,
                             const char *token)
{
	AUTO(buf_done) struct buf path = BUF(4096);

	buf_addf(&path, "/snapshots?limit=%d", PAGE);
	if (pages->name)
		buf_addf(&path, "&name=%s", pages->name);
	if (token[0]) {
		buf_add_text(&path, "&nextToken=");
		http_escape(&path, token);
	}
	return arena_text(a, buf_text(&path));
}

static int read_pages(struct e2b_snapshot_pages *pages, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	char token[512] = "";

	for (unsigned page = 0; page < PAGES_MAX; page++) {
		struct http_async_answer answer;
		const struct json_value *root;
		const struct remote_call call = {.method = "GET",
		                                 .path = page_path(pages, &arena, token),
		                                 .wanted = "X-Next-Token",
		                                 .deadline = deadline};

		if (remote_call(pages->remote, &call, &answer, err) < 0)
			return -1;
		int status = json_load(&arena, buf_span(&answer.body), &root, err);
		buf_done(&answer.body);
		if (status < 0) {
			err->code = ERROR_UNAVAILABLE;
			return FAIL_CONTEXT(err, "E2B: list of snapshots");
		}
		pages->take_page(pages, root);
		if (!answer.wanted[0])
			return 0;
		(void)snprintf(token, sizeof(token), "%s", answer.wanted);
	}
	return FAIL(err, ERROR_LIMIT, "E2B: the list of snapshots has more than %d pages",
	            PAGES_MAX);
}

static void take_named(struct e2b_snapshot_pages *pages, const struct json_value *list)
{
	for (size_t i = 0; i < json_count(list); i++) {
		const char *id = json_get_text(json_item_at(list, i), "snapshotID", "");

		if (strstr(id, pages->name))
			pages->service_id = arena_text(pages->arena, id);
	}
}

static void take_own(struct e2b_snapshot_pages *pages, const struct json_value *list)
{
	for (size_t i = 0; i < json_count(list); i++)
		remote_snapshot_note(pages->remote, pages->arena,
		                     json_get_text(json_item_at(list, i), "snapshotID", ""),
		                     &pages->list, &pages->capacity);
}

int e2b_account_snapshot(struct remote *r, struct arena *a, const char *snapshot, int64_t deadline,
                         const char **ret, struct error *err)
{
	char name[REMOTE_SNAPSHOT_NAME_SIZE];
	struct e2b_snapshot_pages pages = {
	        .remote = r, .arena = a, .name = name, .take_page = take_named};

	remote_snapshot_name(r, snapshot, name);
	if (read_pages(&pages, deadline, err) < 0)
		return -1;
	*ret = pages.service_id;
	return 0;
}

static int remove_snapshot(struct remote *r, const char *snapshot, int64_t deadline,
                           struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf path = BUF(4096);
	const char *service_id;

	if (e2b_account_snapshot(r, &arena, snapshot, deadline, &service_id, err) < 0)
		return -1;
	if (!service_id)
		return 0;
	buf_add_text(&path, "/templates/");
	http_escape(&path, service_id);
	const struct remote_call call = {.method = "DELETE",
	                                 .path = buf_text(&path),
	                                 .accepted = gone_is_fine,
	                                 .deadline = deadline};
	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

static int list_snapshots(struct remote *r, struct arena *a, int64_t deadline,
                          struct provider_list *ret, struct error *err)
{
	struct e2b_snapshot_pages pages = {.remote = r, .arena = a, .take_page = take_own};

	if (read_pages(&pages, deadline, err) < 0)
		return -1;
	*ret = pages.list;
	return 0;
}

const struct remote_snapshot_kind e2b_account_snapshots = {
        .take = take_snapshot,
        .remove = remove_snapshot,
        .list = list_snapshots,
        .copies_processes = true,
};
