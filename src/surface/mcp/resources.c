/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes, and the files in them, as resources. */
#include <string.h>

#include "edge/api.h"
#include "edge/target.h"
#include "fleet/core/sandboxes.h"
#include "json/write.h"
#include "store/sandboxes.h"
#include "surface/mcp/fixtures.h"
#include "surface/mcp/mcp.h"
#include "surface/native/sandbox_answer.h"
#include "tool/tool.h"

#define BASE "atoll://sandbox/"
#define FILES "/files/"
#define PAGE 100
#define FILE_MAX (8 << 20)

static const struct resource_form {
	const char *uri_template, *name, *description, *type;
} templates[] = {
        {BASE "{sandbox}", "sandbox", "the state of a sandbox", "application/json"},
        {BASE "{sandbox}" FILES "{+path}", "file", "a file of its workspace", NULL},
};

static void write_resource(struct arena *a, struct buf *out, const struct sandbox_record *r)
{
	json_begin_object(out, NULL);
	json_add_text(out, "uri", arena_format(a, BASE "%s", r->id));
	json_add_text(out, "name", r->name);
	json_add_text(out, "description", sandbox_state_name(r->actual));
	json_add_text(out, "mimeType", "application/json");
	json_end_object(out);
}

int mcp_resources_list(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	const struct sandbox_filter filter = {
	        .project_id = api_project(m->rq),
	        .state = -1,
	        .page = json_text(json_get(m->message.params, "cursor"), NULL),
	        .limit = PAGE,
	};
	struct sandbox_list found;
	struct error err;

	if (store_sandbox_list(api_of(m->rq)->store, m->rq->arena, &filter, &found, &err) < 0)
		return mcp_refuse_error(fault, &err);
	json_begin_list(out, "resources");
	for (size_t i = 0; i < found.count; i++)
		write_resource(m->rq->arena, out, &found.items[i]);
	if (!found.next_page)
		mcp_fixtures_list(m, MCP_FIXTURE_RESOURCES, out);
	json_end_list(out);
	if (found.next_page)
		json_add_text(out, "nextCursor", found.next_page);
	return 0;
}

int mcp_resource_templates(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	(void)fault;
	json_begin_list(out, "resourceTemplates");
	for (size_t i = 0; i < COUNT_OF(templates); i++) {
		json_begin_object(out, NULL);
		json_add_text(out, "uriTemplate", templates[i].uri_template);
		json_add_text(out, "name", templates[i].name);
		json_add_text(out, "description", templates[i].description);
		if (templates[i].type)
			json_add_text(out, "mimeType", templates[i].type);
		json_end_object(out);
	}
	mcp_fixtures_list(m, MCP_FIXTURE_TEMPLATES, out);
	json_end_list(out);
	return 0;
}

bool mcp_is_resource_template(const char *uri_template)
{
	for (size_t i = 0; i < COUNT_OF(templates); i++)
		if (strcmp(templates[i].uri_template, uri_template) == 0)
			return true;
	return false;
}

static void add_contents(struct buf *out, const char *uri, const char *type, struct span content)
{
	bool is_text = span_is_utf8(content) && span_find(content, '\0') < 0;

	json_begin_list(out, "contents");
	json_begin_object(out, NULL);
	json_add_text(out, "uri", uri);
	json_add_text(out, "mimeType", is_text ? type : "application/octet-stream");
	if (is_text)
		json_add_span(out, "text", content);
	else
		json_add_bytes(out, "blob", content);
	json_end_object(out);
	json_end_list(out);
}

static int read_sandbox(struct mcp *m, const char *uri, const char *id, struct buf *out,
                        struct error *err)
{
	const struct fleet_ref ref = {api_project(m->rq), id, NULL};
	AUTO(buf_done) struct buf text = BUF(1024 * 1024);
	struct sandbox_record record;
	struct json_list answers;

	if (fleet_find(api_of(m->rq)->fleet, m->rq->arena, &ref, &record, err) < 0)
		return -1;
	answers = sandbox_answers(m->rq, &record, 1);
	json_write(&text, &sandbox_shape, answers.items);
	add_contents(out, uri, "application/json", buf_span(&text));
	return 0;
}

static int read_file(struct mcp *m, const char *uri, const struct tools_target *which,
                     const char *path, struct buf *out, struct error *err)
{
	AUTO(api_target_done) struct api_target target = {.hold = NULL};
	AUTO(buf_done) struct buf content = BUF(FILE_MAX);
	struct tool_call call;

	if (tools_open_call(m->rq, NULL, which, &target, &call, err) < 0)
		return mcp_fail_elsewhere(m, err);
	if (tool_load_file(&call, path, &content, err) < 0)
		return -1;
	add_contents(out, uri, "text/plain", buf_span(&content));
	return 0;
}

/* Decodes %XX in a path of a URI. */
static const char *unescape_path(struct arena *a, struct span text)
{
	char *out = arena_alloc(a, text.size + 1), *to = out;

	while (text.data && text.size > 0) {
		struct span rest = text;
		int byte = span_take_escaped(&rest);

		/* A '%' that the client has not escaped. */
		if (byte <= 0) {
			byte = (unsigned char)text.data[0];
			rest = (struct span){text.data + 1, text.size - 1};
		}
		*to++ = (char)byte;
		text = rest;
	}
	return out;
}

const char *mcp_sandbox_of_uri(struct arena *a, const char *uri)
{
	struct span rest = span_of(uri);

	if (!span_starts_with(rest, BASE))
		return NULL;
	span_skip(&rest, sizeof(BASE) - 1);
	return rest.size > 0 && span_find(rest, '/') < 0 ? unescape_path(a, rest) : NULL;
}

int mcp_resources_read(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	const char *uri = json_text(json_get(m->message.params, "uri"), "");
	struct span rest = span_of(uri), id;
	struct tools_target which = {.conversation = NULL};
	struct error err;
	int result;

	if (!span_starts_with(rest, BASE))
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 200,
		                  "uri: " BASE "ID or " BASE "ID" FILES "PATH is expected");
	span_skip(&rest, sizeof(BASE) - 1);
	id = rest;
	if (span_find(rest, '/') >= 0)
		id.size = (size_t)span_find(rest, '/');
	span_skip(&rest, id.size);
	which.sandbox = unescape_path(m->rq->arena, id);
	if (rest.size == 0)
		result = read_sandbox(m, uri, which.sandbox, out, &err);
	else if (span_starts_with(rest, FILES))
		result = read_file(
		        m, uri, &which,
		        unescape_path(m->rq->arena, (struct span){rest.data + sizeof(FILES) - 1,
		                                                  rest.size - (sizeof(FILES) - 1)}),
		        out, &err);
	else
		result = FAIL_MISSING(&err, "resource", uri);
	if (result == 0)
		return 0;
	if (err.code != ERROR_NOT_FOUND)
		return mcp_refuse_error(fault, &err);
	return mcp_refuse(fault, m->message.is_modern ? MCP_INVALID_PARAMS : MCP_NO_RESOURCE, 200,
	                  "%s", err.text);
}
