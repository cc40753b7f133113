/* SPDX-License-Identifier: Apache-2.0 */
/* E2B's snapshots are templates. Their ids in the account are TEAM/NAME:TAG, and only the list
 * tells the team. */
#include "provider/remote/snapshots.h"

#include <string.h>

#include "http/client/client.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/e2b/e2b.h"

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

struct e2b_snapshot_list {
	struct remote *remote;
	struct arena *arena;
	const char *name;       /* of the wanted snapshot */
	const char *service_id; /* of the wanted one; NULL: there is none */
	struct provider_list list;
	size_t capacity;
};

static void take_wanted(void *context, const struct json_value *item)
{
	struct e2b_snapshot_list *l = context;
	const char *id = json_get_text(item, "snapshotID", "");

	if (strstr(id, l->name))
		l->service_id = arena_text(l->arena, id);
}

static void take_own(void *context, const struct json_value *item)
{
	struct e2b_snapshot_list *l = context;

	remote_snapshot_note(l->remote, l->arena, json_get_text(item, "snapshotID", ""), &l->list,
	                     &l->capacity);
}

int e2b_account_snapshot(struct remote *r, struct arena *a, const char *snapshot, int64_t deadline,
                         const char **ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	char name[REMOTE_SNAPSHOT_NAME_SIZE];
	struct e2b_snapshot_list found = {.remote = r, .arena = a, .name = name};

	remote_snapshot_name(r, snapshot, name);
	const struct e2b_page_reader listing = {
	        .noun = "snapshots",
	        .path = arena_format(&arena, "/snapshots?name=%s", name),
	        .take_item = take_wanted,
	        .context = &found};
	if (e2b_read_pages(r, &listing, deadline, err) < 0)
		return -1;
	*ret = found.service_id;
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
	struct e2b_snapshot_list own = {.remote = r, .arena = a};
	const struct e2b_page_reader listing = {
	        .noun = "snapshots", .path = "/snapshots", .take_item = take_own, .context = &own};

	if (e2b_read_pages(r, &listing, deadline, err) < 0)
		return -1;
	*ret = own.list;
	return 0;
}

const struct remote_snapshot_kind e2b_account_snapshots = {
        .take = take_snapshot,
        .remove = remove_snapshot,
        .list = list_snapshots,
        .copies_processes = true,
};
