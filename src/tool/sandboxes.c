/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, lists and deletes sandboxes, for clients that have only tools. */

#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/create.h"
#include "fleet/lifecycle/lifecycle.h"
#include "store/sandbox_record.h"
#include "store/sandboxes.h"
#include "tool/builtin.h"
#include "tool/tool.h"

#define LIST_MAX 200

struct sandbox_item {
	const char *sandbox, *name, *state, *template;
	int64_t created_at;
};
static const struct json_member sandbox_item_members[] = {
        JSON_TEXT_MEMBER(sandbox_item, sandbox, .about = "its id"),
        JSON_TEXT_MEMBER(sandbox_item, name),
        JSON_TEXT_MEMBER(sandbox_item, state),
        JSON_TEXT_MEMBER(sandbox_item, template),
        JSON_TIME_MEMBER(sandbox_item, created_at),
};
static JSON_SHAPE(sandbox_item, "ToolSandbox", sandbox_item, "A sandbox");

static struct sandbox_item item_of(struct arena *a, const struct sandbox_record *r)
{
	return (struct sandbox_item){
	        .sandbox = arena_text(a, r->id),
	        .name = r->name,
	        .state = sandbox_state_name(r->actual),
	        .template = r->template_name,
	        .created_at = r->created_at,
	};
}

struct create_input {
	const char *name, *template, *image;
	bool internet, persistent;
	uint64_t present;
};
enum { CREATE_INTERNET };
static const struct json_member create_input_members[] = {
        [CREATE_INTERNET] = JSON_BOOL_MEMBER(create_input, internet,
                                             .about = "false = no network; default: the server's "
                                                      "setting"),
        JSON_TEXT_MEMBER(create_input, name, .max = SANDBOX_NAME_MAX,
                         .about = "unique in the project; default: generated"),
        JSON_TEXT_MEMBER(
                create_input, template, .max = 128,
                .about = "decides what is installed; default: the server's default template"),
        JSON_TEXT_MEMBER(create_input, image, .max = 512,
                         .about = "image of a registry instead of a template, such as python:3.12"),
        JSON_BOOL_MEMBER(create_input, persistent, .about = "do not delete it when it is idle"),
};
static JSON_BITS_SHAPE(create_input, "CreateSandboxInput", create_input, "A new sandbox");

static int create_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                       struct error *err)
{
	const struct create_input *in = input;
	const struct fleet_create request = {
	        .project_id = call->project_id,
	        .key_id = call->key_id,
	        .user_id = call->user_id,
	        .caller = call->caller,
	        .name = in->name,
	        .template = in->template,
	        .image = in->image,
	        .internet = in->present >> CREATE_INTERNET & 1 ? in->internet : -1,
	        .persistent = in->persistent,
	        .wait = true,
	};
	struct sandbox_item *out = ARENA_NEW(call->arena, struct sandbox_item);
	struct sandbox_record made;

	if (fleet_create(call->fleet, call->arena, &request, &made, err) < 0)
		return -1;
	*out = item_of(call->arena, &made);
	tool_add_text(ret, span_of(arena_format(call->arena, "made sandbox %s (%s)", out->sandbox,
	                                        out->name)));
	ret->structured = out;
	return 0;
}

const struct tool create_sandbox_tool = {
        .name = "create_sandbox",
        .title = "Create a sandbox",
        .description =
                "Creates another isolated computer. Pass its id as the argument 'sandbox' of "
                "other tools. Without that argument they use a sandbox that is created "
                "automatically, so call this only to get a second one.",
        .input = &create_input,
        .output = &sandbox_item,
        .class = TOOL_RUNS,
        .flags = TOOL_NO_SANDBOX | TOOL_MAKES_ONE,
        .call = create_call,
};

struct empty {
	char none;
};
static const struct json_member empty_members[] = {};
static JSON_SHAPE(empty, "ListSandboxesInput", empty, "No input");

struct list_output {
	struct json_list sandboxes;
	bool truncated;
};
static const struct json_member list_output_members[] = {
        JSON_LIST_MEMBER(list_output, sandboxes, &sandbox_item),
        JSON_BOOL_MEMBER(list_output, truncated, .about = "there are more"),
};
static JSON_SHAPE(list_output, "ListSandboxesOutput", list_output, "The project's sandboxes");

static int list_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                     struct error *err)
{
	const struct sandbox_filter filter = {
	        .project_id = call->project_id, .state = -1, .limit = LIST_MAX};
	struct list_output *out = ARENA_NEW(call->arena, struct list_output);
	AUTO(buf_done) struct buf text = BUF(SIZE_MAX / 2);
	struct sandbox_list found;
	struct sandbox_item *items;

	(void)input;
	if (store_sandbox_list(call->store, call->arena, &filter, &found, err) < 0)
		return -1;
	items = ARENA_ARRAY(call->arena, struct sandbox_item, found.count);
	for (size_t i = 0; i < found.count; i++) {
		items[i] = item_of(call->arena, &found.items[i]);
		buf_addf(&text, "%s  %s  %s  %s\n", items[i].sandbox, items[i].state,
		         items[i].template, items[i].name);
	}
	if (found.count == 0)
		buf_add_text(&text, "[no sandboxes]\n");
	*out = (struct list_output){{items, found.count, true}, found.next_page != NULL};
	tool_add_text(ret, (struct span){arena_copy(call->arena, buf_span(&text)), text.size});
	ret->structured = out;
	return 0;
}

const struct tool list_sandboxes_tool = {
        .name = "list_sandboxes",
        .title = "List sandboxes",
        .description = "Lists the project's sandboxes, newest first: id, state, template, "
                       "name.",
        .input = &empty,
        .output = &list_output,
        .class = TOOL_READS,
        .flags = TOOL_NO_SANDBOX | TOOL_IDEMPOTENT,
        .call = list_call,
};

struct delete_input {
	const char *sandbox;
};
static const struct json_member delete_input_members[] = {
        JSON_TEXT_MEMBER(delete_input, sandbox, .flags = JSON_REQUIRED, .min = 1,
                         .max = SANDBOX_NAME_MAX, .about = "id or name"),
};
static JSON_SHAPE(delete_input, "DeleteSandboxInput", delete_input, "A sandbox to delete");

struct delete_output {
	const char *sandbox;
};
static const struct json_member delete_output_members[] = {
        JSON_TEXT_MEMBER(delete_output, sandbox),
};
static JSON_SHAPE(delete_output, "DeleteSandboxOutput", delete_output, "The deleted sandbox");

static int delete_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                       struct error *err)
{
	const struct delete_input *in = input;
	const struct fleet_ref ref = {call->project_id, in->sandbox, NULL};
	struct delete_output *out = ARENA_NEW(call->arena, struct delete_output);

	if (fleet_delete(call->fleet, call->arena, &ref, SANDBOX_REASON_USER, err) < 0)
		return -1;
	out->sandbox = in->sandbox;
	tool_add_text(ret, span_of(arena_format(call->arena, "deleted %s", in->sandbox)));
	ret->structured = out;
	return 0;
}

const struct tool delete_sandbox_tool = {
        .name = "delete_sandbox",
        .title = "Delete a sandbox",
        .description = "Deletes a sandbox with everything in it.",
        .input = &delete_input,
        .output = &delete_output,
        .class = TOOL_RUNS,
        .flags = TOOL_NO_SANDBOX | TOOL_DESTRUCTIVE | TOOL_IDEMPOTENT,
        .call = delete_call,
};
