/* SPDX-License-Identifier: Apache-2.0 */
/* /accounts/me/sandboxes — reusable configs of sandboxes, by id or name.
 *
 * A config is stored as the JSON of its shape. The environment is secret and stored separately:
 * answers show asterisks for its values, and asterisks in a request keep the stored value. */
#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "calls/configs.h"
#include "edge/api.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "sandbox/isolation.h"
#include "provider/set.h"
#include "store/configs.h"
#include "store/secrets.h"
#include "surface/native/native.h"
#include "tool/tool.h"

struct config_record;

#define BASE "/accounts/me/sandboxes"
#define MASK "********"
#define CONFIG_SIZE_MAX ((size_t)64 * 1024)
#define ENV_SIZE_MAX ((size_t)1024 * 1024)
/* The name of the volume is "home-" and the key. */
#define HOME_KEY_MAX 58

struct config_resources {
	double cpu;
	int64_t disk_mb, pids;
};
static const struct json_member config_resources_members[] = {
        JSON_NUMBER_MEMBER(config_resources, cpu, .min = 0, .max = 1024, .flags = JSON_OMIT_EMPTY,
                           .about = "vCPUs"),
        JSON_WHOLE_MEMBER(config_resources, disk_mb, .name = "diskMb", .min = 0, .max = 1 << 28,
                          .flags = JSON_OMIT_EMPTY, .about = "MiB"),
        JSON_WHOLE_MEMBER(config_resources, pids, .min = 0, .max = 1 << 22,
                          .flags = JSON_OMIT_EMPTY),
};
static JSON_SHAPE(config_resources, "SandboxConfigResources", config_resources,
                  "Limits besides memoryLimit; 0: inherited");

struct config_lifecycle {
	int64_t idle_timeout_s, lifetime_max_s;
};
static const struct json_member config_lifecycle_members[] = {
        JSON_WHOLE_MEMBER(config_lifecycle, idle_timeout_s, .name = "idleTimeoutSeconds", .min = 0,
                          .flags = JSON_OMIT_EMPTY,
                          .about = "idle time after which a persistent sandbox is stopped and any "
                                   "other sandbox is deleted"),
        JSON_WHOLE_MEMBER(config_lifecycle, lifetime_max_s, .name = "maxLifetimeSeconds", .min = 0,
                          .flags = JSON_OMIT_EMPTY, .about = "age at which the sandbox ends"),
};
static JSON_SHAPE(config_lifecycle, "SandboxConfigLifecycle", config_lifecycle,
                  "When the sandbox ends by itself");

struct config_extras {
	bool mounts_s3;
	const char *workspace_root, *persistent_home;
	int64_t persistent_disk_gb;
};
static const struct json_member config_extras_members[] = {
        JSON_BOOL_MEMBER(config_extras, mounts_s3, .name = "mountAwsS3Buckets",
                         .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(config_extras, workspace_root, .name = "workspaceRoot", .max = 1024,
                         .flags = JSON_OMIT_EMPTY,
                         .about = "parent folder of workspaces (default /mnt/workspaces)"),
        JSON_WHOLE_MEMBER(config_extras, persistent_disk_gb, .name = "persistentDiskGb", .min = 0,
                          .max = 65536, .flags = JSON_OMIT_EMPTY,
                          .about = "size limit of the home volume in GiB when it is created "
                                   "(default: no limit)"),
        JSON_TEXT_MEMBER(config_extras, persistent_home, .name = "persistentHome", .max = 1024,
                         .flags = JSON_OMIT_EMPTY,
                         .about = "mount point of a volume that outlives the sandbox, for packages "
                                  "and caches; /home/user if only persistentDiskGb is given"),
};
static JSON_SHAPE(config_extras, "SandboxConfigOptions", config_extras,
                  "Options of persistent sandboxes; not every provider supports them");

struct config_body {
	const char *provider, *isolation, *template, *permission_mode;
	const char **runtimes;
	bool internet, persistent;
	int64_t timeout_s, memory_mb, output_limit_bytes;
	struct config_resources resources;
	struct config_lifecycle lifecycle;
	struct config_extras options;
	struct json_map env;
	uint64_t present;
};
enum { CONFIG_INTERNET, CONFIG_ENV };
static const struct json_member config_shape_members[] = {
        [CONFIG_INTERNET] = JSON_BOOL_MEMBER(config_body, internet, .flags = JSON_OMIT_EMPTY,
                                             .about = "false: no network"),
        [CONFIG_ENV] = JSON_TEXT_MAP_MEMBER(
                config_body, env, .name = "envVars", .max = 256,
                .flags = JSON_SECRET | JSON_OMIT_EMPTY,
                .about = "environment of every command; replies show " MASK
                         " instead of each value; sending that back keeps the stored value"),
        JSON_TEXT_MEMBER(config_body, provider, .max = 32, .flags = JSON_OMIT_EMPTY,
                         .about =
                                 "a provider of the server, see GET /v1/providers, or a kind "
                                 "that it lacks yet, such as lambda (default: the first that can)"),
        JSON_TEXT_MEMBER(config_body, isolation, .max = 16, .choices = isolation_choices,
                         .flags = JSON_OMIT_EMPTY, .about = "the least isolation that is accepted"),
        JSON_TEXT_MEMBER(config_body, template, .max = 128, .flags = JSON_OMIT_EMPTY,
                         .about = "name or id (default: the server's default template)"),
        JSON_TEXT_MEMBER(config_body, permission_mode, .name = "permissionMode", .max = 16,
                         .flags = JSON_OMIT_EMPTY,
                         .about = "edit, ask or bypass; applies to tools that use this config"),
        JSON_TEXT_LIST_MEMBER(
                config_body, runtimes, .max = 8, .flags = JSON_OMIT_EMPTY,
                .about =
                        "bash, python, node, r or java: runtimes for tools and commands; advisory"),
        JSON_WHOLE_MEMBER(config_body, timeout_s, .name = "timeout", .min = 0,
                          .flags = JSON_OMIT_EMPTY,
                          .about = "time limit in seconds for a command, a block of code, a job or "
                                   "a tool; at most 300 on lambda and 600 elsewhere"),
        JSON_WHOLE_MEMBER(config_body, memory_mb, .name = "memoryLimit", .min = 0, .max = 1 << 24,
                          .flags = JSON_OMIT_EMPTY,
                          .about = "MB, at most 1024 on lambda; also the upper limit for requests"),
        JSON_WHOLE_MEMBER(config_body, output_limit_bytes, .name = "outputLimitBytes", .min = 0,
                          .flags = JSON_OMIT_EMPTY,
                          .about = "size limit of a tool's output and of each stream of a command"),
        JSON_BOOL_MEMBER(config_body, persistent, .flags = JSON_OMIT_EMPTY,
                         .about = "keep the sandbox between calls; not on lambda"),
        JSON_OBJECT_MEMBER(config_body, resources, &config_resources, .flags = JSON_OMIT_EMPTY),
        JSON_OBJECT_MEMBER(config_body, lifecycle, &config_lifecycle, .flags = JSON_OMIT_EMPTY),
        JSON_OBJECT_MEMBER(config_body, options, &config_extras, .flags = JSON_OMIT_EMPTY),
};
static JSON_BITS_SHAPE(config_shape, "SandboxConfig", config_body, "Settings for sandboxes");

struct config_record_body {
	const char *id, *name;
	struct config_body config;
	int64_t created_at, updated_at;
	uint64_t present;
};
enum { RECORD_NAME, RECORD_CONFIG };
static const struct json_member record_request_members[] = {
        [RECORD_NAME] = JSON_TEXT_MEMBER(config_record_body, name, .flags = JSON_REQUIRED, .min = 1,
                                         .max = SANDBOX_NAME_MAX, .example = "default"),
        [RECORD_CONFIG] = JSON_OBJECT_MEMBER(config_record_body, config, &config_shape),
};
static JSON_SHAPE(record_request, "SandboxConfigCreate", config_record_body, "A config to store");
static const struct json_member record_change_members[] = {
        [RECORD_NAME] =
                JSON_TEXT_MEMBER(config_record_body, name, .min = 1, .max = SANDBOX_NAME_MAX),
        [RECORD_CONFIG] = JSON_OBJECT_MEMBER(config_record_body, config, &config_shape),
};
static JSON_BITS_SHAPE(record_change, "SandboxConfigChange", config_record_body,
                       "Given members replace the stored ones; config is replaced as a whole");
static const struct json_member record_shape_members[] = {
        JSON_TEXT_MEMBER(config_record_body, id),
        JSON_TEXT_MEMBER(config_record_body, name),
        JSON_OBJECT_MEMBER(config_record_body, config, &config_shape),
        JSON_TIME_MEMBER(config_record_body, created_at),
        JSON_TIME_MEMBER(config_record_body, updated_at),
};
static JSON_SHAPE(record_shape, "SandboxConfigRecord", config_record_body, "A reusable config");
static const struct json_member record_list_shape_members[] = {
        JSON_LIST_MEMBER(list_answer, items, &record_shape),
};
static JSON_SHAPE(record_list_shape, "SandboxConfigList", list_answer, "Reusable configs");

static int parse_env(struct arena *a, const char *env_json, struct json_map *ret, struct error *err)
{
	const struct json_value *env;
	size_t count;

	if (store_secret_check(env_json, err) < 0 || json_load(a, span_of(env_json), &env, err) < 0)
		return -1;
	count = json_count(env);
	*ret = (struct json_map){ARENA_ARRAY(a, struct json_pair, count + 1), count, true};
	for (size_t i = 0; i < count; i++) {
		const struct json_value *value = json_member_at(env, i, &ret->pairs[i].key);

		ret->pairs[i].value = json_text(value, "");
	}
	return 0;
}

/* With the values of the environment. */
static int decode_config(struct arena *a, const struct config_record *r, struct config_body *ret,
                         struct error *err)
{
	if (json_parse(a, span_of(r->config_json), &config_shape, ret, err) < 0 ||
	    parse_env(a, r->env_json, &ret->env, err) < 0)
		return FAIL_CONTEXT(err, "sandbox config '%s'", r->name);
	return 0;
}

static const char *format_env(struct arena *a, const struct json_map *map, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(ENV_SIZE_MAX);

	buf_add_byte(&text, '{');
	for (size_t i = 0; i < map->count; i++) {
		if (i > 0)
			buf_add_byte(&text, ',');
		json_write_text(&text, span_of(map->pairs[i].key));
		buf_add_byte(&text, ':');
		json_write_text(&text, span_of(map->pairs[i].value));
	}
	buf_add_byte(&text, '}');
	if (text.overflowed) {
		(void)FAIL(err, ERROR_TOO_LARGE, "envVars are larger than %zu bytes",
		           text.size_max);
		return NULL;
	}
	return arena_copy(a, buf_span(&text));
}

static int encode_config(struct arena *a, const struct config_body *config, struct config_record *r,
                         struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(CONFIG_SIZE_MAX);
	struct config_body open = *config;

	open.env = (struct json_map){.present = false};
	open.present &= ~(UINT64_C(1) << CONFIG_ENV);
	json_write(&text, &config_shape, &open);
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the config is larger than %zu bytes",
		            text.size_max);
	r->config_json = arena_copy(a, buf_span(&text));
	r->env_json = format_env(a, &config->env, err);
	return r->env_json ? 0 : -1;
}

static int fill_config_answer(struct arena *a, const struct config_record *r,
                              struct config_record_body *ret, struct error *err)
{
	*ret = (struct config_record_body){.id = r->id,
	                                   .name = r->name,
	                                   .created_at = r->created_at,
	                                   .updated_at = r->updated_at};
	if (decode_config(a, r, &ret->config, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->config.env.count; i++)
		ret->config.env.pairs[i].value = MASK;
	return 0;
}

static int reply_config(struct request *rq, struct reply *reply, const struct config_record *r,
                        struct error *err)
{
	struct config_record_body out;

	if (fill_config_answer(rq->arena, r, &out, err) < 0)
		return -1;
	reply_json(reply, &record_shape, &out);
	return 0;
}

static struct sandbox_resources make_config_resources(const struct config_body *c)
{
	return (struct sandbox_resources){c->resources.cpu, c->memory_mb, c->resources.disk_mb,
	                                  c->resources.pids};
}

static bool has_options(const struct config_extras *o)
{
	return o->mounts_s3 || o->persistent_home || o->persistent_disk_gb;
}

static struct account_config make_config_rules(const struct config_body *c)
{
	return (struct account_config){
	        .provider = c->provider,
	        .permission_mode = c->permission_mode,
	        .runtimes = c->runtimes,
	        .timeout_s = c->timeout_s,
	        .memory_mb = c->memory_mb,
	        .output_limit_bytes = c->output_limit_bytes,
	        .idle_timeout_s = c->lifecycle.idle_timeout_s,
	        .lifetime_max_s = c->lifecycle.lifetime_max_s,
	        .persistent = c->persistent,
	        .has_options = has_options(&c->options),
	        .persistent_home = c->options.persistent_home,
	};
}

/* A kind of provider that this server lacks, such as lambda, may be configured later: the config is
 * stored, and its use is refused until then. */
static int check_providers(struct request *rq, const struct config_body *c, struct error *err)
{
	if (fleet_providers_check(api_of(rq)->fleet, c->provider, c->isolation, err) == 0)
		return 0;
	if (err->code != ERROR_INVALID || !account_knows_provider(c->provider))
		return FAIL_CONTEXT(err, "config");
	error_clear(err);
	return 0;
}

static int config_check(struct request *rq, const struct config_body *c, struct error *err)
{
	const struct account_config rules = make_config_rules(c);
	const struct sandbox_resources resources = make_config_resources(c);
	const struct sandbox_mount home = {"home", c->options.persistent_home, false};

	if (account_config_check(&rules, err) < 0 || sandbox_resources_check(&resources, err) < 0)
		return FAIL_CONTEXT(err, "config");
	if (home.path && sandbox_mounts_check(&home, 1, err) < 0)
		return FAIL_CONTEXT(err, "config.options.persistentHome");
	if (c->options.workspace_root &&
	    sandbox_mount_path_check(arena_format(rq->arena, "%s/name", c->options.workspace_root),
	                             err) < 0)
		return FAIL_CONTEXT(err, "config.options.workspaceRoot");
	if (check_providers(rq, c, err) < 0)
		return -1;
	for (size_t i = 0; i < c->env.count; i++)
		if (sandbox_env_check(c->env.pairs[i].key, c->env.pairs[i].value, err) < 0)
			return FAIL_CONTEXT(err, "config.envVars");
	return 0;
}

static const char *find_map_value(const struct json_map *map, const char *key)
{
	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->pairs[i].key, key) == 0)
			return map->pairs[i].value;
	return NULL;
}

/* Asterisks for a new variable are refused: there is no stored value. */
static int unmask_env(struct json_map *env, const struct json_map *old, struct error *err)
{
	for (size_t i = 0; i < env->count; i++) {
		const char *value;

		if (strcmp(env->pairs[i].value, MASK) != 0)
			continue;
		value = find_map_value(old, env->pairs[i].key);
		if (!value)
			return FAIL(err, ERROR_INVALID,
			            "config.envVars: '%.64s' has no stored value that " MASK
			            " could keep",
			            env->pairs[i].key);
		env->pairs[i].value = value;
	}
	return 0;
}

/* A config's limits bind its users: only a caller with project:write may remove or widen them.
 * `new` NULL: the config is renamed or deleted, which removes all its limits. */
static int check_limits_stay(struct request *rq, const struct config_record *r,
                             const struct config_body *new, struct error *err)
{
	struct account_config before, after = {.provider = NULL};
	struct config_body old;
	const char *limit;

	if (json_parse(rq->arena, span_of(r->config_json), &config_shape, &old, err) < 0)
		return FAIL_CONTEXT(err, "sandbox config '%s'", r->name);
	before = make_config_rules(&old);
	if (new)
		after = make_config_rules(new);
	limit = new ? account_config_widened(&before, &after) : account_config_limit(&before);
	if (!limit || api_require(rq, SCOPE_PROJECT_WRITE, err) == 0)
		return 0;
	(void)FAIL_CONTEXT(
	        err,
	        "config '%s' limits '%s'; removing the limit requires the scope 'project:write'",
	        r->name, limit);
	error_hint(err, "make a config of another name, or ask an admin of the project");
	return -1;
}

static int configs_list(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	struct config_list found;
	struct config_record_body *items;

	(void)body;
	if (store_config_list(api_of(rq)->store, rq->arena, api_project(rq), &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct config_record_body, found.count);
	for (size_t i = 0; i < found.count; i++)
		if (fill_config_answer(rq->arena, &found.items[i], &items[i], err) < 0)
			return -1;
	reply_list(reply, &record_list_shape, items, found.count);
	return 0;
}

static int find_config(struct request *rq, struct config_record *ret, struct error *err)
{
	return store_config_find(api_of(rq)->store, rq->arena, api_project(rq),
	                         request_param(rq, "config"), ret, err);
}

static int config_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	struct config_record record;

	(void)body;
	if (find_config(rq, &record, err) < 0)
		return -1;
	return reply_config(rq, reply, &record, err);
}

static int config_create(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	const struct config_record_body *b = body;
	struct config_body config = b->config;
	struct id id = id_new();
	struct config_record record = {.id = id.text,
	                               .project_id = api_project(rq),
	                               .name = b->name,
	                               .created_at = clock_unix_ms()};

	record.updated_at = record.created_at;
	if (sandbox_name_check(b->name, err) < 0 || config_check(rq, &config, err) < 0 ||
	    unmask_env(&config.env, &(struct json_map){.count = 0}, err) < 0 ||
	    encode_config(rq->arena, &config, &record, err) < 0 ||
	    store_config_insert(api_of(rq)->store, &record, err) < 0)
		return -1;
	reply_status(reply, 201);
	return reply_config(rq, reply, &record, err);
}

static int change_config(struct request *rq, const struct config_record_body *b,
                         struct config_record *r, struct error *err)
{
	struct config_body config = b->config;
	struct json_map old;

	if (row_is_given(b->present, RECORD_NAME) && strcmp(b->name, r->name) != 0) {
		if (sandbox_name_check(b->name, err) < 0 || check_limits_stay(rq, r, NULL, err) < 0)
			return -1;
		r->name = b->name;
	}
	if (!row_is_given(b->present, RECORD_CONFIG))
		return 0;
	if (parse_env(rq->arena, r->env_json, &old, err) < 0 ||
	    unmask_env(&config.env, &old, err) < 0 || config_check(rq, &config, err) < 0 ||
	    check_limits_stay(rq, r, &config, err) < 0)
		return -1;
	return encode_config(rq->arena, &config, r, err);
}

static int config_patch(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	struct config_record record;
	int64_t seen_at, now = clock_unix_ms();

	if (find_config(rq, &record, err) < 0 || change_config(rq, body, &record, err) < 0)
		return -1;
	seen_at = record.updated_at;
	/* updated_at must grow with every change, also with two changes in one millisecond. */
	record.updated_at = now > seen_at ? now : seen_at + 1;
	if (store_config_update(api_of(rq)->store, &record, seen_at, err) < 0)
		return -1;
	return reply_config(rq, reply, &record, err);
}

static int config_delete(struct request *rq, const void *body, struct reply *reply,
                         struct error *err)
{
	struct config_record record;

	(void)body;
	if (find_config(rq, &record, err) < 0 || check_limits_stay(rq, &record, NULL, err) < 0 ||
	    store_config_remove(api_of(rq)->store, record.project_id, record.id, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

/* A config that this provider cannot honour is refused instead of being applied in part. */
static int check_provider(struct request *rq, const struct config_body *c, struct error *err)
{
	const struct provider_set *set = fleet_providers(api_of(rq)->fleet);
	const char *primary = provider_set_at(set, 0)->name;

	if (c->provider && !provider_set_find(set, c->provider))
		return FAIL(err, ERROR_UNSUPPORTED,
		            "the config is for provider '%s', this server has '%s'", c->provider,
		            primary);
	if (c->options.mounts_s3)
		return FAIL(err, ERROR_UNSUPPORTED, "provider '%s' has no mountAwsS3Buckets",
		            c->provider ? c->provider : primary);
	return 0;
}

/* The workspace's name if it is valid in a volume's name, otherwise a stable hash of it. */
static const char *home_key(struct arena *a, const char *workspace)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof(hash) + 1];
	struct error ignored = {0};

	if (strlen(workspace) <= HOME_KEY_MAX && sandbox_name_check(workspace, &ignored) == 0)
		return workspace;
	(void)crypto_hash_sha256(hash, (const unsigned char *)workspace, strlen(workspace));
	(void)sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	return arena_format(a, "%.32s", hex);
}

static void apply_home(struct arena *a, const struct config_extras *options, const char *workspace,
                       struct fleet_create *request)
{
	if (!options->persistent_home && !options->persistent_disk_gb)
		return;
	request->persistent_home = home_key(a, workspace);
	request->persistent_home_path = options->persistent_home;
	request->persistent_home_mb = options->persistent_disk_gb * 1024;
}

/* Entries of `over` win. */
static struct json_map merge_maps(struct arena *a, const struct json_map *under,
                                  const struct json_map *over)
{
	struct json_map map = {.present = true};

	map.pairs = ARENA_ARRAY(a, struct json_pair, under->count + over->count + 1);
	for (size_t i = 0; i < over->count; i++)
		map.pairs[map.count++] = over->pairs[i];
	for (size_t i = 0; i < under->count; i++)
		if (!find_map_value(over, under->pairs[i].key))
			map.pairs[map.count++] = under->pairs[i];
	return map;
}

static int64_t first_positive(int64_t given, int64_t otherwise)
{
	return given > 0 ? given : otherwise;
}

int api_config_apply(struct request *rq, const struct api_config_use *use,
                     struct fleet_create *request, struct error *err)
{
	struct sandbox_resources cap = {0};
	struct json_pair label = {.key = SANDBOX_CONFIG_LABEL};
	const struct json_map labels = {&label, 1, true};
	struct sandbox_resources layers[2];
	struct config_record record;
	struct config_body config;
	int64_t *idle_ms;

	if (store_config_find(api_of(rq)->store, rq->arena, api_project(rq), use->id_or_name,
	                      &record, err) < 0 ||
	    decode_config(rq->arena, &record, &config, err) < 0 ||
	    check_provider(rq, &config, err) < 0)
		return -1;
	layers[0] = request->resources;
	layers[1] = make_config_resources(&config);
	label.value = record.id;
	cap.memory_mb = config.memory_mb;
	request->resources = sandbox_resources_resolve(layers, COUNT_OF(layers), &cap);
	request->env = merge_maps(rq->arena, &config.env, &request->env);
	request->own_labels = merge_maps(rq->arena, &request->own_labels, &labels);
	if (!request->template && !request->image)
		request->template = config.template;
	if (!request->provider)
		request->provider = config.provider;
	if (!request->isolation)
		request->isolation = config.isolation;
	if (request->internet < 0 && row_is_given(config.present, CONFIG_INTERNET))
		request->internet = config.internet;
	if (!request->workspace_root)
		request->workspace_root = config.options.workspace_root;
	request->persistent = request->persistent || config.persistent;
	apply_home(rq->arena, &config.options, use->workspace ? use->workspace : record.name,
	           request);
	/* A persistent sandbox is stopped when idle, so it keeps its files. */
	idle_ms = request->persistent ? &request->timeouts.idle_stop_ms
	                              : &request->timeouts.idle_reap_ms;
	if (*idle_ms == 0)
		*idle_ms = config.lifecycle.idle_timeout_s * 1000;
	request->timeouts.lifetime_max_ms = first_positive(request->timeouts.lifetime_max_ms,
	                                                   config.lifecycle.lifetime_max_s * 1000);
	return 0;
}

/* Without a mode everything is permitted. */
static enum tool_permission parse_permission_mode(const char *mode)
{
	if (mode && strcmp(mode, "ask") == 0)
		return TOOL_ASK;
	return mode && strcmp(mode, "edit") == 0 ? TOOL_EDIT : TOOL_BYPASS;
}

static int64_t provider_call_max_s(struct request *rq, const struct config_body *config)
{
	return account_call_max_s(config->provider ? config->provider
	                                           : provider_ops_of(api_of(rq)->provider)->name);
}

int api_config_guard(struct request *rq, const char *id_or_name, struct tool_call *call,
                     struct error *err)
{
	struct config_record record;
	struct config_body config;
	struct run_limits limits;
	int64_t own_max_ms;

	if (store_config_find(api_of(rq)->store, rq->arena, api_project(rq), id_or_name, &record,
	                      err) < 0 ||
	    decode_config(rq->arena, &record, &config, err) < 0)
		return -1;
	call->permission = parse_permission_mode(config.permission_mode);
	call->keeps_to_workspace = true;
	limits = run_limits_of(&(struct config_limit_members){
	        .timeout_s = config.timeout_s,
	        .memory_mb = config.memory_mb,
	        .output_limit_bytes = config.output_limit_bytes,
	        .runtimes = config.runtimes,
	});
	call->runtimes = limits.runtimes;
	call->job_timeout_max_ms = limits.timeout_ms;
	/* A config named in a call on an existing sandbox may be for another provider than this
	 * server's. */
	own_max_ms = 1000 * first_positive(config.timeout_s, provider_call_max_s(rq, &config));
	if (own_max_ms < call->timeout_max_ms)
		call->timeout_max_ms = own_max_ms;
	if (config.timeout_s > 0 || call->timeout_ms > call->timeout_max_ms)
		call->timeout_ms = call->timeout_max_ms;
	if (limits.output_bytes > 0)
		call->output_limit_bytes = limits.output_bytes;
	return 0;
}

#define TAG .tag = "accounts"
const struct route configs_routes[] = {
        {HTTP_GET, BASE, SCOPE_SANDBOX_READ, .answer = &record_list_shape, .handle = configs_list,
         TAG, .summary = "List reusable sandbox configs"},
        {HTTP_POST, BASE, SCOPE_SANDBOX_WRITE, .body = &record_request, .answer = &record_shape,
         .status = 201, .handle = config_create, TAG, .summary = "Create a sandbox config"},
        {HTTP_GET, BASE "/:config", SCOPE_SANDBOX_READ, .answer = &record_shape,
         .handle = config_get, TAG, .summary = "Get a sandbox config by id or name"},
        {HTTP_PATCH, BASE "/:config", SCOPE_SANDBOX_WRITE, .body = &record_change,
         .answer = &record_shape, .handle = config_patch, TAG,
         .summary = "Change a sandbox config"},
        {HTTP_DELETE, BASE "/:config", SCOPE_SANDBOX_WRITE, .status = 204, .handle = config_delete,
         TAG, .summary = "Delete a sandbox config"},
        {.path = NULL},
};
