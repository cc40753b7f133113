/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/daytona/daytona.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "http/client/client.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/remote/snapshots.h"
#include "provider/remote/volumes.h"

#define LABEL_SERVER "atoll_server"
#define PAUSES_MAX 3
#define LABEL_ID "atoll_id"
#define LABEL_OWNER "atoll_owner"
#define LABEL_EPOCH "atoll_epoch"
#define NAME_PREFIX "atoll-" /* of a sandbox's name: two creates cannot make two */
#define PAGE 100
#define PAGES_MAX 200
#define LOOK_FIRST_MS 50
#define LOOK_MAX_MS 1000
#define GIB_MB 1024

static const int gone_is_fine[] = {404, 0}, already[] = {404, 409, 0};

static const struct {
	const char *name;
	enum remote_state state;
	bool is_gone, is_passing;
} states[] = {
        {"started", REMOTE_RUNNING, false, false},
        {"paused", REMOTE_PAUSED, false, false},
        {"stopped", REMOTE_STOPPED, false, false},
        {"archived", REMOTE_STOPPED, false, false},
        {"destroyed", REMOTE_STOPPED, true, false},
        {"destroying", REMOTE_STOPPED, true, true},
        {"creating", REMOTE_RUNNING, false, true},
        {"restoring", REMOTE_RUNNING, false, true},
        {"starting", REMOTE_RUNNING, false, true},
        {"resuming", REMOTE_RUNNING, false, true},
        {"pending_build", REMOTE_RUNNING, false, true},
        {"building_snapshot", REMOTE_RUNNING, false, true},
        {"pulling_snapshot", REMOTE_RUNNING, false, true},
        {"pausing", REMOTE_PAUSED, false, true},
        {"stopping", REMOTE_STOPPED, false, true},
        {"archiving", REMOTE_STOPPED, false, true},
        {"error", REMOTE_STOPPED, false, false},
        {"build_failed", REMOTE_STOPPED, false, false},
};

static size_t find_state(const struct json_value *from)
{
	const char *name = json_get_text(from, "state", "");

	for (size_t i = 0; i < COUNT_OF(states); i++)
		if (strcmp(states[i].name, name) == 0)
			return i;
	return COUNT_OF(states);
}

/* Paths, URLs and headers are made of it. */
static int copy_plain(const struct json_value *from, const char *name, char *to, size_t size,
                      struct error *err)
{
	const char *text = json_get_text(from, name, "");

	for (const char *c = text; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f || *c == '"')
			return FAIL(err, ERROR_UNAVAILABLE, "Daytona: %s is malformed", name);
	if (!*text || strlen(text) >= size)
		return FAIL(err, ERROR_UNAVAILABLE, "Daytona: %s is empty or too long", name);
	(void)snprintf(to, size, "%s", text);
	return 0;
}

/* 1: read; 0: it is not one of this server, or it is gone. */
static int read_sandbox(const struct remote *r, const struct json_value *from,
                        struct remote_sandbox *ret, struct error *err)
{
	const struct json_value *labels = json_get(from, "labels");
	const char *id = json_get_text(labels, LABEL_ID, "");
	const char *owner = json_get_text(labels, LABEL_OWNER, "");
	struct remote_sandbox s = {.state = REMOTE_RUNNING};
	size_t state = find_state(from);
	struct error ignored = {0};

	if (strcmp(json_get_text(labels, LABEL_SERVER, ""), r->server) != 0 || !id_is_valid(id) ||
	    (state < COUNT_OF(states) && states[state].is_gone))
		return 0;
	if (copy_plain(from, "id", s.remote_id, sizeof(s.remote_id), err) < 0)
		return -1;
	memcpy(s.id, id, sizeof(s.id));
	if (id_is_valid(owner))
		memcpy(s.owner, owner, sizeof(s.owner));
	(void)!span_parse_whole(span_of(json_get_text(labels, LABEL_EPOCH, "")), 0, INT64_MAX,
	                        &s.lease_epoch, &ignored);
	if (state < COUNT_OF(states))
		s.state = states[state].state;
	(void)snprintf(s.region, sizeof(s.region), "%s", json_get_text(from, "target", ""));
	s.cpu = json_number(json_get(from, "cpu"), 0);
	s.memory_mb = (int64_t)(json_number(json_get(from, "memory"), 0) * GIB_MB);
	s.disk_mb = (int64_t)(json_number(json_get(from, "disk"), 0) * GIB_MB);
	if (!json_time_parse(span_of(json_get_text(from, "createdAt", "")), &s.started_unix_ms))
		s.started_unix_ms = 0;
	*ret = s;
	return 1;
}

static int get_sandbox(struct remote *r, struct arena *a, const char *id_or_name, int64_t deadline,
                       const struct json_value **ret, struct error *err)
{
	const struct remote_call call = {.method = "GET",
	                                 .path = arena_format(a, "/sandbox/%s", id_or_name),
	                                 .deadline = deadline};

	return remote_call_load(r, &call, a, ret, err);
}

static int refuse_state(const struct json_value *found, struct error *err)
{
	return FAIL(err, ERROR_UNAVAILABLE, "Daytona: the sandbox is '%.40s': %.200s",
	            json_get_text(found, "state", "?"),
	            json_get_text(found, "errorReason", "it does not say why"));
}

/* Looks until the sandbox has left the states that pass; *ret may be a later description. */
static int await_state(struct remote *r, struct arena *a, enum remote_state wanted,
                       int64_t deadline, const struct json_value **ret, struct error *err)
{
	int64_t pause_ms = LOOK_FIRST_MS;

	for (;;) {
		size_t state = find_state(*ret);
		bool is_known = state < COUNT_OF(states);

		if (is_known && !states[state].is_passing)
			return states[state].state == wanted && !states[state].is_gone
			               ? 0
			               : refuse_state(*ret, err);
		if (deadline_poll_ms(deadline) == 0)
			return FAIL(err, ERROR_TIMEOUT, "Daytona: the sandbox is still '%.40s'",
			            json_get_text(*ret, "state", "?"));
		const struct timespec pause = {pause_ms / 1000, pause_ms % 1000 * 1000000};
		(void)nanosleep(&pause, NULL);
		pause_ms = pause_ms * 2 < LOOK_MAX_MS ? pause_ms * 2 : LOOK_MAX_MS;
		if (get_sandbox(r, a, json_get_text(*ret, "id", ""), deadline, ret, err) < 0)
			return -1;
	}
}

/* Preview URL of the agent's port, its token, and the URL of the toolbox. */
static int find_access(struct remote *r, struct arena *a, const struct json_value *found,
                       struct remote_sandbox *s, int64_t deadline, struct error *err)
{
	const struct json_value *preview;
	char toolbox[REMOTE_SECRET_MAX];
	const struct remote_call call = {.method = "GET",
	                                 .path = arena_format(a, "/sandbox/%s/ports/%d/preview-url",
	                                                      s->remote_id, REMOTE_PORT),
	                                 .deadline = deadline};

	if (remote_call_load(r, &call, a, &preview, err) < 0 ||
	    copy_plain(preview, "url", s->base, sizeof(s->base), err) < 0 ||
	    copy_plain(preview, "token", s->traffic, sizeof(s->traffic), err) < 0 ||
	    copy_plain(found, "toolboxProxyUrl", toolbox, sizeof(toolbox), err) < 0)
		return -1;
	if (strncmp(s->base, "http://", 7) != 0 && strncmp(s->base, "https://", 8) != 0)
		return FAIL(err, ERROR_UNAVAILABLE, "Daytona: '%.60s' is no URL", s->base);
	if ((size_t)snprintf(s->access, sizeof(s->access), "%s/%s", toolbox, s->remote_id) >=
	    sizeof(s->access))
		return FAIL(err, ERROR_UNAVAILABLE, "Daytona: toolboxProxyUrl is too long");
	s->has_access = true;
	return 0;
}

static void write_volumes(const struct remote *r, struct buf *out, const struct sandbox_spec *spec)
{
	char name[REMOTE_SNAPSHOT_NAME_SIZE];

	if (spec->mount_count == 0)
		return;
	json_begin_list(out, "volumes");
	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct sandbox_mount *mount = &spec->mounts[i];

		remote_volume_name(r, mount->volume_id, name);
		json_begin_object(out, NULL);
		json_add_text(out, "volumeId", name);
		json_add_text(out, "mountPath", mount->path);
		if (mount->subpath && *mount->subpath)
			json_add_text(out, "subpath", mount->subpath);
		json_end_object(out);
	}
	json_end_list(out);
}

static int write_create(struct remote *r, struct arena *a, struct buf *out,
                        const struct sandbox_spec *spec, struct error *err)
{
	char snapshot[REMOTE_SNAPSHOT_NAME_SIZE];
	const char *image = snapshot;
	const struct daytona_rules network = {
	        .is_blocked = spec->network == SANDBOX_NETWORK_BLOCKED, .egress = spec->egress};

	if (spec->snapshot)
		remote_snapshot_name(r, spec->snapshot, snapshot);
	else if (remote_image_of(r, a, spec->template_dir, &image, err) < 0)
		return -1;
	json_begin_object(out, NULL);
	json_add_text(out, "name", arena_format(a, NAME_PREFIX "%s", spec->id));
	if (*image)
		json_add_text(out, "snapshot", image);
	if (*r->own->target)
		json_add_text(out, "target", r->own->target);
	json_add_bool(out, "public", false);
	if (daytona_network_write(r, a, out, &network, err) < 0)
		return -1;
	write_volumes(r, out, spec);
	json_add_whole(out, "autoStopInterval", 0);
	json_add_whole(out, "autoPauseInterval", REMOTE_LEASE_S / 60);
	json_add_whole(out, "autoDeleteInterval", -1);
	json_begin_object(out, "labels");
	json_add_text(out, LABEL_SERVER, r->server);
	json_add_text(out, LABEL_ID, spec->id);
	json_add_text(out, LABEL_OWNER, spec->owner ? spec->owner : "");
	json_add_text(out, LABEL_EPOCH, arena_format(a, "%lld", (long long)spec->lease_epoch));
	json_end_object(out);
	json_end_object(out);
	return 0;
}

static int daytona_create(struct remote *r, const struct sandbox_spec *spec, int64_t deadline,
                          struct remote_sandbox *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(64 * 1024);
	const struct json_value *made;
	struct remote_call call = {
	        .method = "POST", .path = "/sandbox", .is_once = true, .deadline = deadline};

	if (write_create(r, &arena, &body, spec, err) < 0)
		return -1;
	call.body = buf_span(&body);
	if (remote_call_load(r, &call, &arena, &made, err) < 0 ||
	    await_state(r, &arena, REMOTE_RUNNING, deadline, &made, err) < 0)
		return -1;
	int status = read_sandbox(r, made, ret, err);
	if (status == 0)
		return FAIL(err, ERROR_UNAVAILABLE, "Daytona: the new sandbox lacks its labels");
	return status < 0 ? -1 : find_access(r, &arena, made, ret, deadline, err);
}

/* By its name: the list is behind, this call is not. */
static int list_named_sandbox(struct remote *r, struct arena *a, const char *id, int64_t deadline,
                              struct remote_list *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *found;
	int status;

	*ret = (struct remote_list){.items = ARENA_NEW(a, struct remote_sandbox)};
	if (get_sandbox(r, &arena, arena_format(&arena, NAME_PREFIX "%s", id), deadline, &found,
	                err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	status = read_sandbox(r, found, ret->items, err);
	if (status > 0)
		ret->count = 1;
	return status < 0 ? -1 : 0;
}

static const char *page_path(struct remote *r, struct arena *a, const char *cursor)
{
	AUTO(buf_done) struct buf path = BUF(8192);

	buf_addf(&path, "/sandbox?limit=%d&labels=", PAGE);
	http_escape(&path, arena_format(a, "{\"" LABEL_SERVER "\":\"%s\"}", r->server));
	if (cursor) {
		buf_add_text(&path, "&cursor=");
		http_escape(&path, cursor);
	}
	return arena_text(a, buf_text(&path));
}

static int take_items(struct remote *r, struct arena *a, const struct json_value *page,
                      size_t *capacity, struct remote_list *ret, struct error *err)
{
	const struct json_value *items = json_get(page, "items");

	for (size_t i = 0; i < json_count(items); i++) {
		struct remote_sandbox s;
		int status = read_sandbox(r, json_item_at(items, i), &s, err);

		if (status < 0)
			return -1;
		if (status == 0)
			continue;
		ret->items = arena_grow(a, ret->items, ret->count, capacity, sizeof(s));
		ret->items[ret->count++] = s;
	}
	return 0;
}

static int daytona_list(struct remote *r, struct arena *a, const char *id, int64_t deadline,
                        struct remote_list *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct remote_list list = {0};
	const char *cursor = NULL;
	size_t capacity = 0;

	if (id)
		return list_named_sandbox(r, a, id, deadline, ret, err);
	for (unsigned count = 0; count < PAGES_MAX; count++) {
		const struct json_value *page;
		const struct remote_call call = {.method = "GET",
		                                 .path = page_path(r, &arena, cursor),
		                                 .deadline = deadline};

		if (remote_call_load(r, &call, &arena, &page, err) < 0)
			return -1;
		if (!json_get(page, "items"))
			return FAIL(err, ERROR_UNAVAILABLE, "Daytona: a list without items");
		if (take_items(r, a, page, &capacity, &list, err) < 0)
			return -1;
		cursor = text_or_null(json_get_text(page, "nextCursor", NULL));
		if (!cursor) {
			*ret = list;
			return 0;
		}
	}
	return FAIL(err, ERROR_LIMIT, "Daytona: the list of sandboxes has more than %d pages",
	            PAGES_MAX);
}

/* Ends when the service no longer has it: nothing inside runs. */
static int daytona_remove(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                          struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct timespec pause = {.tv_nsec = LOOK_FIRST_MS * 1000000};
	const struct json_value *found;
	const struct remote_call call = {.method = "DELETE",
	                                 .path = arena_format(&arena, "/sandbox/%s", s->remote_id),
	                                 .accepted = gone_is_fine,
	                                 .deadline = deadline};

	if (remote_call_do(r, &call, err) < 0)
		return -1;
	while (get_sandbox(r, &arena, s->remote_id, deadline, &found, err) == 0) {
		size_t state = find_state(found);

		if (state < COUNT_OF(states) && states[state].is_gone && !states[state].is_passing)
			return 0;
		if (deadline_poll_ms(deadline) == 0)
			return FAIL(err, ERROR_TIMEOUT, "Daytona: sandbox '%s' is still there",
			            s->id);
		(void)nanosleep(&pause, NULL);
	}
	if (err->code != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

struct daytona_verb {
	const char *name;
	const int *accepted; /* statuses besides 2xx, or NULL */
	int64_t deadline;
};

static int post_verb(struct remote *r, const struct remote_sandbox *s,
                     const struct daytona_verb *verb, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct remote_call call = {
	        .method = "POST",
	        .path = arena_format(&arena, "/sandbox/%s/%s", s->remote_id, verb->name),
	        .accepted = verb->accepted,
	        .deadline = verb->deadline};

	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

static int daytona_pause(struct remote *r, const struct remote_sandbox *s, bool keeps_memory,
                         int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	enum remote_state wanted = keeps_memory ? REMOTE_PAUSED : REMOTE_STOPPED;
	const struct json_value *found;

	const struct daytona_verb verb = {keeps_memory ? "pause" : "stop", NULL, deadline};

	/* A late byte of a tunnel wakes a paused sandbox, which is then paused again. */
	for (unsigned tries = 0; tries < PAUSES_MAX; tries++) {
		size_t state;

		if (post_verb(r, s, &verb, err) < 0 ||
		    get_sandbox(r, &arena, s->remote_id, deadline, &found, err) < 0)
			return -1;
		state = find_state(found);
		if (state == COUNT_OF(states) || states[state].state != REMOTE_RUNNING)
			break;
	}
	return await_state(r, &arena, wanted, deadline, &found, err);
}

static int daytona_resume(struct remote *r, struct remote_sandbox *s, int64_t deadline,
                          struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *found;
	size_t state;

	if (get_sandbox(r, &arena, s->remote_id, deadline, &found, err) < 0)
		return -1;
	state = find_state(found);
	if (state == COUNT_OF(states) || states[state].state != REMOTE_RUNNING) {
		const struct daytona_verb start = {"start", NULL, deadline};

		if (post_verb(r, s, &start, err) < 0 ||
		    get_sandbox(r, &arena, s->remote_id, deadline, &found, err) < 0)
			return -1;
	}
	if (await_state(r, &arena, REMOTE_RUNNING, deadline, &found, err) < 0)
		return -1;
	return find_access(r, &arena, found, s, deadline, err);
}

static int daytona_renew(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                         struct error *err)
{
	const struct daytona_verb verb = {"last-activity", already, deadline};

	return post_verb(r, s, &verb, err);
}

static int daytona_reach(struct remote *r, const struct remote_sandbox *s, struct remote_reach *ret,
                         struct error *err)
{
	const char *host = strstr(s->base, "://"), *path = host ? strchr(host + 3, '/') : NULL;
	size_t size = path ? (size_t)(path - s->base) : strlen(s->base);

	(void)r;
	if (!host)
		return FAIL(err, ERROR_UNAVAILABLE, "Daytona has not told the URL of sandbox '%s'",
		            s->id);
	*ret = (struct remote_reach){.path = ""};
	(void)snprintf(ret->url, sizeof(ret->url), "%.*s", (int)size, s->base);
	(void)snprintf(ret->path, sizeof(ret->path), "%s", path ? path : "");
	size = strlen(ret->path);
	if (size > 0 && ret->path[size - 1] == '/')
		ret->path[size - 1] = '\0';
	(void)snprintf(ret->headers[0], sizeof(ret->headers[0]), "X-Daytona-Preview-Token: %s",
	               s->traffic);
	(void)snprintf(ret->headers[1], sizeof(ret->headers[1]),
	               "X-Daytona-Skip-Preview-Warning: true");
	return 0;
}

static int daytona_check(struct remote *r, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct remote_call call = {.method = "GET",
	                                 .path = arena_format(&arena, "/sandbox?limit=1"),
	                                 .deadline = deadline};

	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

static const struct remote_kind kind = {
        .name = "daytona",
        .title = "Daytona",
        .key_option = "daytona_api_key",
        .key_header = "Authorization: Bearer ",
        .create = daytona_create,
        .list = daytona_list,
        .remove = daytona_remove,
        .pause = daytona_pause,
        .resume = daytona_resume,
        .renew = daytona_renew,
        .usage = daytona_usage,
        .filter = daytona_filter,
        .put_file = daytona_put_file,
        .run = daytona_run,
        .reach = daytona_reach,
        .check = daytona_check,
        .snapshots = &daytona_account_snapshots,
        .volumes = &daytona_account_volumes,
};

static int daytona_open(const struct provider_options *options, struct provider **ret,
                        struct error *err)
{
	return remote_open(&kind, &provider_daytona, options->remote, options, ret, err);
}

const struct provider_ops provider_daytona = {
        .name = "daytona",
        .isolation = "remote",
        .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC | PROVIDER_CAN_PTY | PROVIDER_CAN_FILES |
                     PROVIDER_CAN_BLOCK_NETWORK | PROVIDER_CAN_ISOLATE | PROVIDER_SURVIVES |
                     PROVIDER_CAN_PAUSE | PROVIDER_CAN_DIAL | PROVIDER_CAN_SNAPSHOT |
                     PROVIDER_CAN_STATS | PROVIDER_CAN_FILTER | PROVIDER_CAN_VOLUME,
        .open = daytona_open,
        .change = remote_change,
        .filter = remote_filter,
        .stats = remote_stats,
        .snapshots = &remote_snapshots,
        .volumes = &remote_volumes,
        .reports = &remote_reports,
        REMOTE_PROVIDER_OPS,
};
