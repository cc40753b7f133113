/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/e2b/e2b.h"

#include <stdio.h>
#include <string.h>

#include "http/client/async.h"
#include "http/client/client.h"
#include "json/json.h"
#include "json/write.h"
#include "provider/remote/snapshots.h"
#include "provider/remote/volumes.h"
#include "sandbox/egress.h"

#define LABEL_SERVER "atoll_server"
#define LABEL_ID "atoll_id"
#define LABEL_OWNER "atoll_owner"
#define LABEL_EPOCH "atoll_epoch"
#define PAGE 100 /* sandboxes of which one call asks the use */
#define PATH_BYTES_MAX 256

static const int gone_is_fine[] = {404, 0}, already[] = {409, 0}, moved_on[] = {404, 409, 0};

/* A path and a header are made of it. */
static bool is_plain(const char *text)
{
	for (const char *c = text; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.",
		            *c))
			return false;
	return *text && strlen(text) <= REMOTE_ID_MAX;
}

/* A header is made of it. */
static int copy_secret(const struct json_value *from, const char *name, char *to, struct error *err)
{
	const char *text = json_get_text(from, name, "");

	for (const char *c = text; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
			return FAIL(err, ERROR_UNAVAILABLE, "E2B: %s is malformed", name);
	if (strlen(text) >= REMOTE_SECRET_MAX)
		return FAIL(err, ERROR_UNAVAILABLE, "E2B: %s is too long", name);
	(void)snprintf(to, REMOTE_SECRET_MAX, "%s", text);
	return 0;
}

static int copy_remote_id(const struct json_value *from, struct remote_sandbox *s,
                          struct error *err)
{
	const char *id = json_get_text(from, "sandboxID", "");

	if (!is_plain(id))
		return FAIL(err, ERROR_UNAVAILABLE, "E2B: '%.60s' is no id of a sandbox", id);
	(void)snprintf(s->remote_id, sizeof(s->remote_id), "%s", id);
	return 0;
}

/* The answer to a create or a connect. */
static int read_access(const struct remote *r, const struct json_value *from,
                       struct remote_sandbox *s, struct error *err)
{
	const char *domain = text_or_null(json_get_text(from, "domain", NULL));

	if (!domain)
		domain = r->own->domain;
	for (const char *c = domain; *c; c++)
		if (!is_plain((const char[]){*c, '\0'}) && *c != ':')
			return FAIL(err, ERROR_UNAVAILABLE, "E2B: '%.60s' is no domain", domain);
	(void)snprintf(s->base, sizeof(s->base), "%s", domain);
	if (copy_secret(from, "envdAccessToken", s->access, err) < 0 ||
	    copy_secret(from, "trafficAccessToken", s->traffic, err) < 0)
		return -1;
	s->has_access = true;
	return 0;
}

static void read_sizes(const struct json_value *from, struct remote_sandbox *s)
{
	s->cpu = (double)json_get_whole(from, "cpuCount", 0);
	s->memory_mb = json_get_whole(from, "memoryMB", 0);
	s->disk_mb = json_get_whole(from, "diskSizeMB", 0);
	if (!json_time_parse(span_of(json_get_text(from, "startedAt", "")), &s->started_unix_ms))
		s->started_unix_ms = 0;
}

static const char *sandbox_path(struct arena *a, const struct remote_sandbox *s, const char *rest)
{
	return arena_format(a, "/sandboxes/%s%s", s->remote_id, rest);
}

static void write_metadata(struct buf *out, const struct remote *r, const struct sandbox_spec *spec)
{
	char epoch[32];

	(void)snprintf(epoch, sizeof(epoch), "%lld", (long long)spec->lease_epoch);
	json_begin_object(out, "metadata");
	json_add_text(out, LABEL_SERVER, r->server);
	json_add_text(out, LABEL_ID, spec->id);
	json_add_text(out, LABEL_OWNER, spec->owner ? spec->owner : "");
	json_add_text(out, LABEL_EPOCH, epoch);
	json_end_object(out);
}

static int write_rules(const struct remote *r, struct arena *a, struct buf *out, const char *egress,
                       struct error *err)
{
	struct sandbox_egress rules = {NULL};

	if (egress && *egress &&
	    (remote_rules_check(r, egress, err) < 0 ||
	     sandbox_egress_parse(a, egress, &rules, err) < 0))
		return -1;
	json_add_texts(out, "allowOut", rules.allow);
	json_add_texts(out, "denyOut", rules.deny);
	return 0;
}

static int find_image(struct remote *r, struct arena *a, const struct sandbox_spec *spec,
                      int64_t deadline, const char **ret, struct error *err)
{
	if (!spec->snapshot)
		return remote_image_of(r, a, spec->template_dir, ret, err);
	if (e2b_account_snapshot(r, a, spec->snapshot, deadline, ret, err) < 0)
		return -1;
	return *ret ? 0 : FAIL_MISSING(err, "snapshot", spec->snapshot);
}

static void write_volumes(const struct remote *r, struct buf *out, const struct sandbox_spec *spec)
{
	char name[REMOTE_VOLUME_NAME_SIZE];

	if (spec->mount_count == 0)
		return;
	json_begin_list(out, "volumeMounts");
	for (size_t i = 0; i < spec->mount_count; i++) {
		remote_volume_name(r, spec->mounts[i].volume_id, name);
		json_begin_object(out, NULL);
		json_add_text(out, "name", name);
		json_add_text(out, "path", spec->mounts[i].path);
		json_end_object(out);
	}
	json_end_list(out);
}

static int write_create(struct remote *r, struct arena *a, struct buf *out,
                        const struct sandbox_spec *spec, int64_t deadline, struct error *err)
{
	bool has_internet = spec->network == SANDBOX_NETWORK_INTERNET;
	const char *image;

	if (has_internet && !r->own->allows_internet)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider '%s' gives no sandbox a network (e2b_allow_internet_access)",
		            r->name);
	if (find_image(r, a, spec, deadline, &image, err) < 0)
		return -1;
	json_begin_object(out, NULL);
	json_add_text(out, "templateID", image);
	json_add_whole(out, "timeout", REMOTE_LEASE_S);
	json_add_bool(out, "autoPause", true);
	json_add_bool(out, "secure", r->own->is_secure);
	json_add_bool(out, "allow_internet_access", has_internet);
	write_metadata(out, r, spec);
	write_volumes(r, out, spec);
	json_begin_object(out, "network");
	json_add_bool(out, "allowPublicTraffic", !r->own->is_secure);
	if (has_internet && spec->egress && *spec->egress &&
	    write_rules(r, a, out, spec->egress, err) < 0)
		return -1;
	json_end_object(out);
	json_end_object(out);
	return 0;
}

static int e2b_create(struct remote *r, const struct sandbox_spec *spec, int64_t deadline,
                      struct remote_sandbox *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(256 * 1024);
	const struct json_value *made, *detail;
	struct remote_call call = {
	        .method = "POST", .path = "/sandboxes", .is_once = true, .deadline = deadline};

	if (write_create(r, &arena, &body, spec, deadline, err) < 0)
		return -1;
	call.body = buf_span(&body);
	if (remote_call_load(r, &call, &arena, &made, err) < 0 ||
	    copy_remote_id(made, ret, err) < 0 || read_access(r, made, ret, err) < 0)
		return -1;
	const struct remote_call look = {
	        .method = "GET", .path = sandbox_path(&arena, ret, ""), .deadline = deadline};
	if (remote_call_load(r, &look, &arena, &detail, err) < 0)
		return -1;
	read_sizes(detail, ret);
	return 0;
}

/* False: it is not one of this server. */
static bool read_item(const struct remote *r, const struct json_value *item,
                      struct remote_sandbox *ret)
{
	const struct json_value *metadata = json_get(item, "metadata");
	const char *id = json_get_text(metadata, LABEL_ID, "");
	const char *owner = json_get_text(metadata, LABEL_OWNER, "");
	struct remote_sandbox s = {.state = REMOTE_PAUSED};
	struct error ignored = {0};

	if (strcmp(json_get_text(metadata, LABEL_SERVER, ""), r->server) != 0 || !id_is_valid(id) ||
	    copy_remote_id(item, &s, &ignored) < 0)
		return false;
	memcpy(s.id, id, sizeof(s.id));
	if (id_is_valid(owner))
		memcpy(s.owner, owner, sizeof(s.owner));
	(void)!span_parse_whole(span_of(json_get_text(metadata, LABEL_EPOCH, "")), 0, INT64_MAX,
	                        &s.lease_epoch, &ignored);
	if (strcmp(json_get_text(item, "state", "running"), "running") == 0)
		s.state = REMOTE_RUNNING;
	read_sizes(item, &s);
	*ret = s;
	return true;
}

struct e2b_account_list {
	struct remote *remote;
	struct arena *arena;
	const char *id; /* NULL = all */
	size_t capacity;
	struct remote_list list;
};

static void take_sandbox(void *context, const struct json_value *item)
{
	struct e2b_account_list *l = context;
	struct remote_sandbox s;

	if (!read_item(l->remote, item, &s) || (l->id && strcmp(l->id, s.id) != 0))
		return;
	l->list.items = arena_grow(l->arena, l->list.items, l->list.count, &l->capacity, sizeof(s));
	l->list.items[l->list.count++] = s;
}

static int e2b_list(struct remote *r, struct arena *a, const char *id, int64_t deadline,
                    struct remote_list *ret, struct error *err)
{
	AUTO(buf_done) struct buf path = BUF(4096);
	struct e2b_account_list own = {.remote = r, .arena = a, .id = id};

	buf_addf(&path, "/v2/sandboxes?metadata=" LABEL_SERVER "%%3D%s", r->server);
	if (id)
		buf_addf(&path, "%%26" LABEL_ID "%%3D%s", id);
	buf_add_text(&path, "&state=running,paused");
	const struct e2b_page_reader listing = {.noun = "sandboxes",
	                                        .path = buf_text(&path),
	                                        .take_item = take_sandbox,
	                                        .context = &own};
	if (e2b_read_pages(r, &listing, deadline, err) < 0)
		return -1;
	*ret = own.list;
	return 0;
}

static int e2b_remove(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                      struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct remote_call call = {.method = "DELETE",
	                                 .path = sandbox_path(&arena, s, ""),
	                                 .accepted = gone_is_fine,
	                                 .deadline = deadline};

	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

static int e2b_pause(struct remote *r, const struct remote_sandbox *s, bool keeps_memory,
                     int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct remote_call call = {.method = "POST",
	                                 .path = sandbox_path(&arena, s, "/pause"),
	                                 .body = keeps_memory ? SPAN("{\"memory\":true}")
	                                                      : SPAN("{\"memory\":false}"),
	                                 .accepted = already,
	                                 .deadline = deadline};

	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

#define LEASE_TEXT_(seconds) #seconds
#define LEASE_TEXT(seconds) LEASE_TEXT_(seconds)
#define LEASE_BODY SPAN("{\"timeout\":" LEASE_TEXT(REMOTE_LEASE_S) "}")

static int e2b_resume(struct remote *r, struct remote_sandbox *s, int64_t deadline,
                      struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *found;
	const struct remote_call call = {.method = "POST",
	                                 .path = sandbox_path(&arena, s, "/connect"),
	                                 .body = LEASE_BODY,
	                                 .deadline = deadline};

	if (remote_call_load(r, &call, &arena, &found, err) < 0)
		return -1;
	return read_access(r, found, s, err);
}

static int e2b_renew(struct remote *r, const struct remote_sandbox *s, int64_t deadline,
                     struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct remote_call call = {.method = "POST",
	                                 .path = sandbox_path(&arena, s, "/timeout"),
	                                 .body = LEASE_BODY,
	                                 .accepted = moved_on,
	                                 .deadline = deadline};

	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

static int ask_usage(struct remote *r, const struct remote_sandbox *all, size_t count,
                     int64_t deadline, struct remote_usage *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf path = BUF(PAGE * (REMOTE_ID_MAX + 1) + PATH_BYTES_MAX);
	const struct json_value *root;

	buf_add_text(&path, "/sandboxes/metrics?sandbox_ids=");
	for (size_t i = 0; i < count; i++)
		buf_addf(&path, "%s%s", i > 0 ? "," : "", all[i].remote_id);
	const struct remote_call call = {
	        .method = "GET", .path = buf_text(&path), .deadline = deadline};
	if (remote_call_load(r, &call, &arena, &root, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct json_value *m =
		        json_get(json_get(root, "sandboxes"), all[i].remote_id);

		ret[i] = (struct remote_usage){
		        .sampled_unix_ms = json_get_whole(m, "timestampUnix", 0) * 1000,
		        .cpu_used = json_number(json_get(m, "cpuUsedPct"), 0) / 100.0 *
		                    (double)json_get_whole(m, "cpuCount", 1),
		        .memory_bytes = (uint64_t)json_get_whole(m, "memUsed", 0),
		        .memory_limit_bytes = (uint64_t)json_get_whole(m, "memTotal", 0),
		        .disk_bytes = (uint64_t)json_get_whole(m, "diskUsed", 0),
		        .disk_limit_bytes = (uint64_t)json_get_whole(m, "diskTotal", 0)};
	}
	return 0;
}

static int e2b_usage(struct remote *r, const struct remote_sandbox *all, size_t count,
                     int64_t deadline, struct remote_usage *ret, struct error *err)
{
	for (size_t at = 0; at < count; at += PAGE) {
		size_t left = count - at;

		if (ask_usage(r, all + at, left < PAGE ? left : PAGE, deadline, ret + at, err) < 0)
			return -1;
	}
	return 0;
}

static int e2b_filter(struct remote *r, const struct remote_sandbox *s, const char *egress,
                      int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf body = BUF(256 * 1024);

	json_begin_object(&body, NULL);
	if (write_rules(r, &arena, &body, egress, err) < 0)
		return -1;
	json_end_object(&body);
	const struct remote_call call = {.method = "PUT",
	                                 .path = sandbox_path(&arena, s, "/network"),
	                                 .body = buf_span(&body),
	                                 .deadline = deadline};
	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

/* The two headers say the same as the host, for servers without a wildcard in their names. */
int e2b_reach(struct remote *r, const struct remote_sandbox *s, uint16_t port,
              struct remote_reach *ret, struct error *err)
{
	*ret = (struct remote_reach){.path = ""};
	int size = *r->own->sandbox_url
	                   ? snprintf(ret->url, sizeof(ret->url), "%s", r->own->sandbox_url)
	                   : snprintf(ret->url, sizeof(ret->url), "https://%u-%s.%s", port,
	                              s->remote_id, s->base);

	if (size < 0 || (size_t)size >= sizeof(ret->url))
		return FAIL(err, ERROR_INVALID, "the URL of sandbox '%s' is too long", s->id);
	(void)snprintf(ret->headers[0], sizeof(ret->headers[0]), "E2b-Sandbox-Id: %s",
	               s->remote_id);
	(void)snprintf(ret->headers[1], sizeof(ret->headers[1]), "E2b-Sandbox-Port: %u", port);
	if (s->traffic[0])
		(void)snprintf(ret->headers[2], sizeof(ret->headers[2]),
		               "E2b-Traffic-Access-Token: %s", s->traffic);
	return 0;
}

static int reach_agent(struct remote *r, const struct remote_sandbox *s, struct remote_reach *ret,
                       struct error *err)
{
	return e2b_reach(r, s, REMOTE_PORT, ret, err);
}

static int e2b_check(struct remote *r, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct remote_call call = {
	        .method = "GET",
	        .path = arena_format(
	                &arena, "/v2/sandboxes?metadata=" LABEL_SERVER "%%3D%s&limit=1", r->server),
	        .deadline = deadline};

	return remote_call_do(r, &call, err) < 0 ? -1 : 0;
}

static const struct remote_kind kind = {
        .name = "e2b",
        .title = "E2B",
        .key_option = "e2b_api_key",
        .key_header = "X-API-KEY: ",
        .create = e2b_create,
        .list = e2b_list,
        .remove = e2b_remove,
        .pause = e2b_pause,
        .resume = e2b_resume,
        .renew = e2b_renew,
        .usage = e2b_usage,
        .filter = e2b_filter,
        .put_file = e2b_put_file,
        .run = e2b_run,
        .reach = reach_agent,
        .check = e2b_check,
        .snapshots = &e2b_account_snapshots,
        .volumes = &e2b_account_volumes,
};

static int e2b_open(const struct provider_options *options, struct provider **ret,
                    struct error *err)
{
	return remote_open(&kind, &provider_e2b, options->remote, options, ret, err);
}

const struct provider_ops provider_e2b = {
        .name = "e2b",
        .isolation = "remote",
        .abilities = PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC | PROVIDER_CAN_PTY | PROVIDER_CAN_FILES |
                     PROVIDER_CAN_STATS | PROVIDER_CAN_BLOCK_NETWORK | PROVIDER_CAN_ISOLATE |
                     PROVIDER_SURVIVES | PROVIDER_CAN_PAUSE | PROVIDER_CAN_DIAL |
                     PROVIDER_CAN_FILTER | PROVIDER_CAN_SNAPSHOT | PROVIDER_CAN_VOLUME,
        .open = e2b_open,
        .change = remote_change,
        .filter = remote_filter,
        .stats = remote_stats,
        .snapshots = &remote_snapshots,
        .volumes = &remote_volumes,
        .reports = &remote_reports,
        REMOTE_PROVIDER_OPS,
};
