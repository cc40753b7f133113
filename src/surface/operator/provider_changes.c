/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/operator/provider_changes.h"

#include <string.h>

#include "config/provider_options.h"
#include "edge/api.h"
#include "fleet/server/providers.h"
#include "json/json.h"
#include "provider/provider.h"
#include "sandbox/sandbox.h"

#define SETTINGS_MAX 32

struct provider_add_body {
	const char *name, *kind;
	struct json_map settings;
};
static const struct json_member provider_add_shape_members[] = {
        JSON_TEXT_MEMBER(provider_add_body, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = SANDBOX_NAME_MAX),
        JSON_TEXT_MEMBER(provider_add_body, kind, .min = 1, .max = 32,
                         .about = "as GET /v1/providers/kinds lists them (default: the name)"),
        JSON_TEXT_MAP_MEMBER(
                provider_add_body, settings, .flags = JSON_SECRET, .max = SETTINGS_MAX,
                .about = "max_sandboxes, price_hour and the other settings of a provider in the "
                         "configuration file, and the options of its kind; secrets are stored "
                         "encrypted and never returned",
                .example = "{\"max_sandboxes\":\"20\"}"),
};
JSON_SHAPE(provider_add_shape, "ProviderAdd", provider_add_body,
           "A provider that every server on this store opens");

struct provider_added_answer {
	const char *name, *kind;
};
static const struct json_member provider_added_shape_members[] = {
        JSON_TEXT_MEMBER(provider_added_answer, name),
        JSON_TEXT_MEMBER(provider_added_answer, kind),
};
JSON_SHAPE(provider_added_shape, "ProviderAdded", provider_added_answer,
           "The provider is stored; servers open it within seconds");

int provider_add(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct provider_add_body *b = body;
	const struct fleet_provider_add request = {b->name, b->kind ? b->kind : b->name,
	                                           b->settings};
	const struct provider_added_answer answer = {request.name, request.kind};

	if (fleet_provider_add(api_of(rq)->fleet, &request, err) < 0)
		return -1;
	reply_status(reply, 201);
	reply_json(reply, &provider_added_shape, &answer);
	return 0;
}

struct provider_set_body {
	struct json_map settings;
};
static const struct json_member provider_set_shape_members[] = {
        JSON_TEXT_MAP_MEMBER(provider_set_body, settings, .flags = JSON_SECRET | JSON_REQUIRED,
                             .max = SETTINGS_MAX,
                             .about = "settings to change, as in POST /v1/providers; \"\" returns "
                                      "to the default; others stay",
                             .example = "{\"max_sandboxes\":\"20\"}"),
};
JSON_SHAPE(provider_set_shape, "ProviderSet", provider_set_body,
           "Settings and secrets of a provider that was added at run time");

int provider_set_settings(struct request *rq, const void *body, struct reply *reply,
                          struct error *err)
{
	const struct provider_set_body *b = body;
	const struct fleet_provider_change change = {request_param(rq, "name"), b->settings};

	if (fleet_provider_set(api_of(rq)->fleet, &change, err) < 0)
		return -1;
	reply_status(reply, 204);
	return 0;
}

struct provider_remove_query {
	bool drain;
};
static const struct json_member provider_remove_query_shape_members[] = {
        JSON_BOOL_MEMBER(provider_remove_query, drain,
                         .about = "the provider makes no more sandboxes, and is removed after its "
                                  "last one"),
};
JSON_SHAPE(provider_remove_query_shape, "ProviderRemoveQuery", provider_remove_query,
           "Options of a removal");

struct provider_removed_answer {
	const char *name;
	bool removed;
	int64_t sandboxes;
};
static const struct json_member provider_removed_shape_members[] = {
        JSON_TEXT_MEMBER(provider_removed_answer, name),
        JSON_BOOL_MEMBER(provider_removed_answer, removed,
                         .about = "false: it drains, and is removed after its last sandbox"),
        JSON_WHOLE_MEMBER(provider_removed_answer, sandboxes,
                          .about = "that it still has, on all servers"),
};
JSON_SHAPE(provider_removed_shape, "ProviderRemoved", provider_removed_answer,
           "The result of a removal");

int provider_remove(struct request *rq, UNUSED const void *body, struct reply *reply,
                    struct error *err)
{
	const struct provider_remove_query *q = rq->query;
	struct provider_removed_answer answer = {.name = request_param(rq, "name")};

	if (fleet_provider_remove(api_of(rq)->fleet, answer.name, q->drain, &answer.sandboxes,
	                          err) < 0)
		return -1;
	answer.removed = answer.sandboxes == 0;
	reply_json(reply, &provider_removed_shape, &answer);
	return 0;
}

struct provider_option_answer {
	const char *name, *about;
	bool secret, required;
};
static const struct json_member provider_option_shape_members[] = {
        JSON_TEXT_MEMBER(provider_option_answer, name),
        JSON_BOOL_MEMBER(provider_option_answer, secret),
        JSON_BOOL_MEMBER(provider_option_answer, required),
        JSON_TEXT_MEMBER(provider_option_answer, about),
};
static JSON_SHAPE(provider_option_shape, "ProviderOption", provider_option_answer,
                  "An option of one kind of provider");

struct provider_kind_answer {
	const char *kind, *isolation;
	struct json_list options;
};
static const struct json_member provider_kind_shape_members[] = {
        JSON_TEXT_MEMBER(provider_kind_answer, kind),
        JSON_TEXT_MEMBER(provider_kind_answer, isolation),
        JSON_LIST_MEMBER(provider_kind_answer, options, &provider_option_shape),
};
static JSON_SHAPE(provider_kind_shape, "ProviderKind", provider_kind_answer,
                  "A kind of provider and its options");

struct provider_kinds_answer {
	struct json_list items;
};
static const struct json_member provider_kinds_shape_members[] = {
        JSON_LIST_MEMBER(provider_kinds_answer, items, &provider_kind_shape),
};
JSON_SHAPE(provider_kinds_shape, "ProviderKinds", provider_kinds_answer,
           "The kinds of providers of this program");

static struct json_list list_options(struct arena *a, const char *kind)
{
	struct provider_option_answer *items =
	        ARENA_ARRAY(a, struct provider_option_answer, SETTINGS_MAX);
	size_t count = 0;

	for (const struct config_provider_option *o = config_provider_options; o->kind; o++)
		if (strcmp(o->kind, kind) == 0 && count < SETTINGS_MAX)
			items[count++] = (struct provider_option_answer){
			        o->name, o->about, o->is_secret, o->is_required};
	return (struct json_list){items, count, true};
}

int provider_kinds_get(struct request *rq, UNUSED const void *body, struct reply *reply,
                       UNUSED struct error *err)
{
	struct provider_kind_answer *items;
	struct provider_kinds_answer answer;
	size_t count = 0;

	while (providers[count])
		count++;
	items = ARENA_ARRAY(rq->arena, struct provider_kind_answer, count + 1);
	for (size_t i = 0; i < count; i++)
		items[i] =
		        (struct provider_kind_answer){providers[i]->name, providers[i]->isolation,
		                                      list_options(rq->arena, providers[i]->name)};
	answer.items = (struct json_list){items, count, true};
	reply_json(reply, &provider_kinds_shape, &answer);
	return 0;
}
