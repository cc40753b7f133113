/* SPDX-License-Identifier: Apache-2.0 */
/* completion/complete: values for an argument of a prompt or of a resource template.
 *
 * A completion changes nothing: it lists the files of a sandbox that runs, and starts none. */
#include <string.h>

#include "edge/api.h"
#include "edge/target.h"
#include "fleet/core/sandboxes.h"
#include "http/server/http.h"
#include "json/write.h"
#include "store/sandboxes.h"
#include "store/templates.h"
#include "surface/mcp/mcp.h"
#include "surface/mcp/prompts.h"
#include "tool/tool.h"

#define VALUES_MAX 100 /* the protocol's limit */
#define VALUE_MAX 4096
#define SANDBOXES_MAX 1000

struct mcp_completion {
	struct mcp *m;
	const char *begun;   /* what the user has typed */
	const char *sandbox; /* for paths; or NULL */
	const char *values[VALUES_MAX];
	size_t count, total;
};

static void add_value(struct mcp_completion *c, const char *value)
{
	if (strncmp(value, c->begun, strlen(c->begun)) != 0)
		return;
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->values[i], value) == 0)
			return;
	c->total++;
	if (c->count < VALUES_MAX)
		c->values[c->count++] = value;
}

/* By name; by id only for an id that has been begun, because names say more. */
static int complete_sandbox(struct mcp_completion *c, struct error *err)
{
	const struct api *api = api_of(c->m->rq);
	const struct sandbox_filter filter = {
	        .project_id = api_project(c->m->rq), .state = -1, .limit = SANDBOXES_MAX};
	struct sandbox_list found;

	if (store_sandbox_list(api->store, c->m->rq->arena, &filter, &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++) {
		add_value(c, found.items[i].name);
		if (c->begun[0])
			add_value(c, found.items[i].id);
	}
	return 0;
}

static int complete_template(struct mcp_completion *c, struct error *err)
{
	const struct api *api = api_of(c->m->rq);
	struct template_list found;

	if (store_template_list(api->store, c->m->rq->arena, api_project(c->m->rq), &found, err) <
	    0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		add_value(c, found.items[i].name);
	return 0;
}

static bool sandbox_runs(struct mcp_completion *c, const char *id_or_name)
{
	const struct fleet_ref ref = {api_project(c->m->rq), id_or_name, NULL};
	struct sandbox_record record;
	struct error ignored;

	return fleet_find(api_of(c->m->rq)->fleet, c->m->rq->arena, &ref, &record, &ignored) == 0 &&
	       record.actual == SANDBOX_STARTED;
}

static int complete_path(struct mcp_completion *c, struct error *err)
{
	const struct tools_target which = {.sandbox =
	                                           c->sandbox ? c->sandbox : c->m->target.sandbox};
	AUTO(api_target_done) struct api_target target = {.hold = NULL};
	const char *slash = strrchr(c->begun, '/');
	const char *folder =
	        slash ? arena_format(c->m->rq->arena, "%.*s", (int)(slash - c->begun), c->begun)
	              : ".";
	struct tool_call call;
	const char **paths;

	if (!which.sandbox || slash == c->begun || !sandbox_runs(c, which.sandbox))
		return 0;
	if (tools_open_call(c->m->rq, NULL, &which, &target, &call, err) < 0)
		return mcp_fail_elsewhere(c->m, err);
	/* A folder that does not exist has no entries. */
	if (tool_list_folder(&call, folder, &paths, err) < 0)
		return err->code == ERROR_NOT_FOUND || err->code == ERROR_INVALID ? 0 : -1;
	while (*paths)
		add_value(c, *paths++);
	return 0;
}

static int find_prompt_argument(const char *prompt, const char *name, enum mcp_complete *ret,
                                struct mcp_fault *fault)
{
	const struct mcp_argument *argument;
	bool is_known;

	argument = mcp_prompt_argument(prompt, name, &is_known);
	if (!is_known)
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 200, "ref: unknown prompt '%.64s'",
		                  prompt);
	if (!argument)
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 200,
		                  "argument: the prompt %s has no argument '%.64s'", prompt, name);
	*ret = argument->complete;
	return 0;
}

static int find_variable(const char *uri, const char *name, enum mcp_complete *ret,
                         struct mcp_fault *fault)
{
	static const struct {
		const char *name, *in_template;
		enum mcp_complete complete;
	} variables[] = {{"sandbox", "{sandbox}", MCP_COMPLETE_SANDBOX},
	                 {"path", "{+path}", MCP_COMPLETE_PATH}};

	if (!mcp_is_resource_template(uri))
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 200,
		                  "ref: unknown resource template '%.100s'", uri);
	for (size_t i = 0; i < COUNT_OF(variables); i++)
		if (strcmp(variables[i].name, name) == 0 && strstr(uri, variables[i].in_template)) {
			*ret = variables[i].complete;
			return 0;
		}
	return mcp_refuse(fault, MCP_INVALID_PARAMS, 200,
	                  "argument: the resource template has no variable '%.64s'", name);
}

static int find_kind(const struct json_value *params, const char *name, enum mcp_complete *ret,
                     struct mcp_fault *fault)
{
	const struct json_value *ref = json_get(params, "ref");
	const char *type = json_get_text(ref, "type", "");

	if (strcmp(type, "ref/prompt") == 0)
		return find_prompt_argument(json_get_text(ref, "name", ""), name, ret, fault);
	if (strcmp(type, "ref/resource") == 0)
		return find_variable(json_get_text(ref, "uri", ""), name, ret, fault);
	return mcp_refuse(fault, MCP_INVALID_PARAMS, 200,
	                  "ref.type: ref/prompt or ref/resource is expected, not '%.64s'", type);
}

void mcp_write_completion(struct buf *out, const char *const *values, size_t count, size_t total)
{
	json_begin_object(out, "completion");
	json_begin_list(out, "values");
	for (size_t i = 0; i < count; i++)
		json_add_text(out, NULL, values[i]);
	json_end_list(out);
	json_add_whole(out, "total", (int64_t)total);
	json_add_bool(out, "hasMore", total > count);
	json_end_object(out);
}

int mcp_complete(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	static int (*const completers[])(struct mcp_completion *, struct error *) = {
	        [MCP_COMPLETE_SANDBOX] = complete_sandbox,
	        [MCP_COMPLETE_TEMPLATE] = complete_template,
	        [MCP_COMPLETE_PATH] = complete_path,
	};
	const struct json_value *params = m->message.params;
	const struct json_value *argument = json_get(params, "argument");
	const struct json_value *given = json_get(json_get(params, "context"), "arguments");
	const char *name = json_get_text(argument, "name", NULL);
	struct mcp_completion c = {.m = m,
	                           .begun = json_get_text(argument, "value", NULL),
	                           .sandbox = json_get_text(given, "sandbox", NULL)};
	enum mcp_complete kind = MCP_COMPLETE_NOTHING;
	struct error err;

	if (!name || !c.begun || strlen(c.begun) > VALUE_MAX)
		return mcp_refuse(
		        fault, MCP_INVALID_PARAMS, 200,
		        "argument: {\"name\":…,\"value\":…} is expected, with texts of at "
		        "most %d bytes",
		        VALUE_MAX);
	if (find_kind(params, name, &kind, fault) < 0)
		return -1;
	if (completers[kind] && completers[kind](&c, &err) < 0)
		return mcp_refuse_error(fault, &err);
	mcp_write_completion(out, c.values, c.count, c.total);
	return 0;
}
