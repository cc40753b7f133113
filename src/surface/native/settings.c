/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/settings and /resource-config — defaults for the sandboxes of a project. */
#include <string.h>

#include "config/config.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "provider/provider.h"
#include "provider/set.h"
#include "sandbox/isolation.h"
#include "store/projects.h"
#include "surface/native/native.h"
#include "surface/native/project_limits.h"
#include "surface/native/timeouts.h"

#define DAY_S ((int64_t)86400)
#define TERMINAL_TTL_S 3600
#define STORAGE "local"

static const struct json_member resource_limits_shape_members[] = {
        JSON_NUMBER_MEMBER(resource_limits, cpu, .min = 0, .max = 1024,
                           .about = "vCPUs; 0 = not set"),
        JSON_WHOLE_MEMBER(resource_limits, memory_mb, .min = 0, .max = 1 << 24, .about = "MiB"),
        JSON_WHOLE_MEMBER(resource_limits, disk_mb, .min = 0, .max = 1 << 28, .about = "MiB"),
        JSON_WHOLE_MEMBER(resource_limits, pids, .min = 0, .max = 1 << 22),
};
JSON_SHAPE(resource_limits_shape, "Limits", resource_limits, "Limits of a sandbox");

int resource_limits_apply(const struct resource_limits_change *change, struct project_record *r,
                          struct error *err)
{
	if (change->defaults)
		r->defaults = resource_limits_to(change->defaults);
	if (change->maximums)
		r->maximums = resource_limits_to(change->maximums);
	if (sandbox_resources_check(&r->maximums, err) < 0 ||
	    sandbox_resources_within(&r->maximums, change->caps, err) < 0)
		return FAIL_CONTEXT(err, "maximums");
	if (sandbox_resources_check(&r->defaults, err) < 0 ||
	    sandbox_resources_within(&r->defaults, &r->maximums, err) < 0 ||
	    sandbox_resources_within(&r->defaults, change->caps, err) < 0)
		return FAIL_CONTEXT(err, "defaults");
	return 0;
}

struct resource_config_answer {
	struct resource_limits defaults, maximums, platform, caps, effective;
};
static const struct json_member resource_config_shape_members[] = {
        JSON_OBJECT_MEMBER(resource_config_answer, defaults, &resource_limits_shape,
                           .about = "limits that the project sets"),
        JSON_OBJECT_MEMBER(
                resource_config_answer, maximums, &resource_limits_shape,
                .about = "limits that no sandbox of the project exceeds; 0: only the caps apply"),
        JSON_OBJECT_MEMBER(resource_config_answer, platform, &resource_limits_shape,
                           .about = "limits that apply where the project sets none"),
        JSON_OBJECT_MEMBER(resource_config_answer, caps, &resource_limits_shape,
                           .about = "upper bounds of the platform"),
        JSON_OBJECT_MEMBER(resource_config_answer, effective, &resource_limits_shape,
                           .about = "limits of a sandbox that requests none"),
};
static JSON_SHAPE(resource_config_shape, "ResourceConfig", resource_config_answer,
                  "Default and maximum limits of the project's sandboxes");

/* The defaults are members of the body itself, the maximums are an object. */
struct resource_config_body {
	double cpu;
	int64_t memory_mb, disk_mb, pids;
	struct resource_limits maximums;
	uint64_t present;
};
enum { RESOURCE_MAXIMUMS };
static const struct json_member resource_request_members[] = {
        [RESOURCE_MAXIMUMS] = JSON_OBJECT_MEMBER(
                resource_config_body, maximums, &resource_limits_shape,
                .about = "only a platform admin can set them; unchanged if omitted"),
        JSON_NUMBER_MEMBER(resource_config_body, cpu, .min = 0, .max = 1024,
                           .about = "vCPUs; 0 = not set"),
        JSON_WHOLE_MEMBER(resource_config_body, memory_mb, .min = 0, .max = 1 << 24,
                          .about = "MiB"),
        JSON_WHOLE_MEMBER(resource_config_body, disk_mb, .min = 0, .max = 1 << 28, .about = "MiB"),
        JSON_WHOLE_MEMBER(resource_config_body, pids, .min = 0, .max = 1 << 22),
};
static JSON_BITS_SHAPE(resource_request, "ResourceConfigPut", resource_config_body,
                       "The project's default limits; omitted members are unset");

static int reply_resources(struct request *rq, struct reply *reply,
                           const struct project_record *project)
{
	const struct config *config = api_of(rq)->config;
	const struct sandbox_resources layers[] = {project->defaults, config->defaults};
	const struct sandbox_resources within =
	        sandbox_resources_resolve(layers, COUNT_OF(layers), &project->maximums);
	const struct sandbox_resources effective =
	        sandbox_resources_resolve(&within, 1, &config->caps);
	const struct resource_config_answer answer = {
	        .defaults = resource_limits_from(&project->defaults),
	        .maximums = resource_limits_from(&project->maximums),
	        .platform = resource_limits_from(&config->defaults),
	        .caps = resource_limits_from(&config->caps),
	        .effective = resource_limits_from(&effective),
	};

	reply_json(reply, &resource_config_shape, &answer);
	return 0;
}

static int resource_config_get(struct request *rq, const void *body, struct reply *reply,
                               struct error *err)
{
	struct project_record project;

	(void)body;
	if (store_project_find(api_of(rq)->store, rq->arena, api_project(rq), &project, err) < 0)
		return -1;
	return reply_resources(rq, reply, &project);
}

static int edit_limits(struct project_record *r, const void *context, struct error *err)
{
	return resource_limits_apply(context, r, err);
}

static int resource_config_put(struct request *rq, const void *body, struct reply *reply,
                               struct error *err)
{
	const struct resource_config_body *b = body;
	const struct resource_limits defaults = {b->cpu, b->memory_mb, b->disk_mb, b->pids};
	bool has_maximums = row_is_given(b->present, RESOURCE_MAXIMUMS);
	const struct resource_limits_change change = {
	        .defaults = &defaults,
	        .maximums = has_maximums ? &b->maximums : NULL,
	        .caps = &api_of(rq)->config->caps,
	};
	struct project_record project;

	if (has_maximums && api_require(rq, SCOPE_ADMIN, err) < 0)
		return FAIL_CONTEXT(err, "maximums");
	if (store_project_edit(api_of(rq)->store, rq->arena,
	                       &(struct project_edit){api_project(rq), edit_limits, &change},
	                       &project, err) < 0)
		return -1;
	return reply_resources(rq, reply, &project);
}

/* The idle times come first, in the order of enum sandbox_timeout. */
struct settings_body {
	struct sandbox_timeouts seconds;
	int64_t terminal_ttl_seconds, artifacts_max_mb, artifacts_keep_seconds;
	const char *default_isolation, *default_storage_provider;
	bool record_terminals;
	uint64_t present;
};
enum {
	SETTINGS_TERMINAL_TTL = SANDBOX_TIMEOUTS_INHERITED,
	SETTINGS_ARTIFACTS_MAX,
	SETTINGS_ARTIFACTS_KEEP,
	SETTINGS_RECORD
};
#define IDLE_ROW(stem, off, api, short_, option, about, ...)                                       \
	TIMEOUT_ROW_(offsetof(struct settings_body, seconds.stem##_ms), off, #stem "_seconds",     \
	             366 * DAY_S, about "; 0: the platform's setting" TIMEOUT_OFF_##off)
#define SETTINGS_ROWS                                                                              \
	SANDBOX_INHERITED_TIMEOUTS(IDLE_ROW),                                                      \
	        [SETTINGS_TERMINAL_TTL] = JSON_WHOLE_MEMBER(                                       \
	                settings_body, terminal_ttl_seconds, .min = 0, .max = 30 * DAY_S,          \
	                .about = "time without input and output after which a terminal closes; "   \
	                         "0: the platform's setting"),                                     \
	        [SETTINGS_ARTIFACTS_MAX] = JSON_WHOLE_MEMBER(                                      \
	                settings_body, artifacts_max_mb, .min = 0, .max = 1 << 30,                 \
	                .about = "MiB of stored artifacts; 0: the platform's setting"),            \
	        [SETTINGS_ARTIFACTS_KEEP] = JSON_WHOLE_MEMBER(                                     \
	                settings_body, artifacts_keep_seconds, .min = 0, .max = 3660 * DAY_S,      \
	                .about = "lifetime of an artifact; 0: the platform's setting"),            \
	        [SETTINGS_RECORD] = JSON_BOOL_MEMBER(                                              \
	                settings_body, record_terminals,                                           \
	                .about = "record the output of every new terminal window"),                \
	        JSON_TEXT_MEMBER(settings_body, default_isolation, .max = 16,                      \
	                         .about = "the least isolation of new sandboxes, unless their "    \
	                                  "request or template names another; the project's "      \
	                                  "member isolation"),                                     \
	        JSON_TEXT_MEMBER(settings_body, default_storage_provider, .max = 64,               \
	                         .about = "where volumes and backups are stored: local")
struct settings_answer {
	struct settings_body settings;
	const char **isolation_choices, **storage_choices;
};
_Static_assert(offsetof(struct settings_answer, settings) == 0,
               "the rows of the settings have their places in the answer");
static const struct json_member settings_shape_members[] = {
        SETTINGS_ROWS,
        JSON_TEXT_LIST_MEMBER(settings_answer, isolation_choices,
                              .about = "values that default_isolation may have"),
        JSON_TEXT_LIST_MEMBER(settings_answer, storage_choices,
                              .about = "values that default_storage_provider may have"),
};
static const struct json_member settings_request_members[] = {SETTINGS_ROWS};
static JSON_SHAPE(settings_shape, "Settings", settings_answer,
                  "Settings in effect for the project");
static JSON_BITS_SHAPE(settings_request, "SettingsPut", settings_body,
                       "Given members replace the stored ones");

/* Values in effect. "Never" is -1 for pause and stop, and 0 for the other times. */
static void fill_idle_times(const struct config *config, const struct project_record *p,
                            struct settings_body *ret)
{
	const struct sandbox_timeouts *const layers[] = {&p->timeouts, &config->timeouts};
	const struct sandbox_timeouts timeouts = sandbox_timeouts_resolve(layers, COUNT_OF(layers));

	for (unsigned i = 0; i < SANDBOX_TIMEOUTS_INHERITED; i++) {
		int64_t seconds = sandbox_timeout_get(&timeouts, i) / 1000;

		if (seconds == 0 && sandbox_timeout_get(&timeouts, i) == 0 &&
		    sandbox_timeout_is_switchable(i))
			seconds = -1;
		sandbox_timeout_set(&ret->seconds, i, seconds);
	}
}

/* Of the server's providers, that of the primary first. */
static const char **list_isolations(struct request *rq)
{
	const struct provider_set *set = fleet_providers(api_of(rq)->fleet);
	unsigned count = provider_set_count(set), found = 0;
	const char **names = ARENA_ARRAY(rq->arena, const char *, count + 1);

	for (unsigned i = 0; i < count; i++) {
		const char *name = provider_member_ops(provider_set_at(set, i))->isolation;
		unsigned at = 0;

		while (at < found && strcmp(names[at], name) != 0)
			at++;
		if (at == found && !provider_member_has_left(provider_set_at(set, i)))
			names[found++] = name;
	}
	return names;
}

static int reply_settings(struct request *rq, struct reply *reply, const struct project_record *p)
{
	const char **isolations = list_isolations(rq);
	const char *storages[] = {STORAGE, NULL};
	struct settings_body settings = {
	        .terminal_ttl_seconds =
	                p->terminal_ttl_ms > 0 ? p->terminal_ttl_ms / 1000 : TERMINAL_TTL_S,
	        .artifacts_max_mb = p->artifacts_max_mb > 0 ? p->artifacts_max_mb
	                                                    : api_of(rq)->config->artifacts_max_mb,
	        .artifacts_keep_seconds =
	                (p->artifacts_keep_ms > 0 ? p->artifacts_keep_ms
	                                          : api_of(rq)->config->artifacts_keep_ms) /
	                1000,
	        .record_terminals = p->record_terminals,
	        .default_isolation = *p->isolation ? p->isolation : isolations[0],
	        .default_storage_provider = STORAGE,
	};
	struct settings_answer answer;

	fill_idle_times(api_of(rq)->config, p, &settings);
	answer = (struct settings_answer){settings, isolations, storages};
	reply_json(reply, &settings_shape, &answer);
	return 0;
}

static int settings_get(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	struct project_record project;

	(void)body;
	if (store_project_find(api_of(rq)->store, rq->arena, api_project(rq), &project, err) < 0)
		return -1;
	return reply_settings(rq, reply, &project);
}

struct settings_change {
	const struct settings_body *body;
	const char *primary; /* isolation of the primary, which a project without its own shows */
};

/* A client that sends back the settings as it read them changes nothing. */
static void edit_isolation(struct project_record *r, const struct settings_change *change)
{
	const char *wanted = change->body->default_isolation;
	const char *shown = *r->isolation ? r->isolation : change->primary;

	if (wanted && strcmp(wanted, shown) != 0)
		r->isolation = isolation_is_known(wanted) ? wanted : "";
}

static int edit_settings(struct project_record *r, const void *context, struct error *err)
{
	const struct settings_change *change = context;
	const struct settings_body *s = change->body;

	(void)err;
	if (row_is_given(s->present, SETTINGS_TERMINAL_TTL))
		r->terminal_ttl_ms = s->terminal_ttl_seconds * 1000;
	if (row_is_given(s->present, SETTINGS_ARTIFACTS_MAX))
		r->artifacts_max_mb = s->artifacts_max_mb;
	if (row_is_given(s->present, SETTINGS_ARTIFACTS_KEEP))
		r->artifacts_keep_ms = s->artifacts_keep_seconds * 1000;
	edit_isolation(r, change);
	if (row_is_given(s->present, SETTINGS_RECORD))
		r->record_terminals = s->record_terminals;
	for (unsigned i = 0; i < SANDBOX_TIMEOUTS_INHERITED; i++) {
		int64_t seconds = sandbox_timeout_get(&s->seconds, i);

		if (row_is_given(s->present, i))
			sandbox_timeout_set(&r->timeouts, i, seconds < 0 ? -1 : seconds * 1000);
	}
	return 0;
}

/* This setting has only one valid value; other values are refused instead of being ignored. */
static int check_fixed_settings(const struct settings_body *s, struct error *err)
{
	if (s->default_storage_provider && strcmp(s->default_storage_provider, STORAGE) != 0)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "default_storage_provider: this server stores in '" STORAGE
		            "', not '%s'",
		            s->default_storage_provider);
	return 0;
}

int native_check_placement(struct request *rq, const char *provider, const char *isolation,
                           struct error *err)
{
	if (!text_or_null(provider) && !text_or_null(isolation))
		return 0;
	return fleet_providers_check(api_of(rq)->fleet, text_or_null(provider),
	                             text_or_null(isolation), err);
}

/* The isolation of the primary is the default of every project: it needs no check. */
static int check_isolation(struct request *rq, const struct settings_body *s, struct error *err)
{
	const char *primary = provider_ops_of(api_of(rq)->provider)->isolation;

	if (!s->default_isolation || strcmp(s->default_isolation, primary) == 0)
		return 0;
	return native_check_placement(rq, NULL, s->default_isolation, err);
}

static int settings_put(struct request *rq, const void *body, struct reply *reply,
                        struct error *err)
{
	const struct settings_change change = {body,
	                                       provider_ops_of(api_of(rq)->provider)->isolation};
	const struct project_edit edit = {api_project(rq), edit_settings, &change};
	struct project_record project;

	if (check_fixed_settings(body, err) < 0 || check_isolation(rq, body, err) < 0 ||
	    store_project_edit(api_of(rq)->store, rq->arena, &edit, &project, err) < 0)
		return -1;
	return reply_settings(rq, reply, &project);
}

#define TAG .tag = "projects"
const struct route settings_routes[] = {
        {HTTP_GET, "/api/sandbox/settings", SCOPE_SANDBOX_READ, .answer = &settings_shape,
         .handle = settings_get, TAG, .summary = "Get the project's settings"},
        {HTTP_PUT, "/api/sandbox/settings", SCOPE_PROJECT_WRITE, .body = &settings_request,
         .answer = &settings_shape, .handle = settings_put, TAG,
         .summary = "Change the project's settings"},
        {HTTP_GET, "/api/sandbox/resource-config", SCOPE_SANDBOX_READ,
         .answer = &resource_config_shape, .handle = resource_config_get, TAG,
         .summary = "Get the default and maximum limits of the project's sandboxes"},
        {HTTP_PUT, "/api/sandbox/resource-config", SCOPE_PROJECT_WRITE, .body = &resource_request,
         .answer = &resource_config_shape, .handle = resource_config_put, TAG,
         .summary = "Set the project's default limits"},
        {.path = NULL},
};
