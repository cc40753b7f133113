/* SPDX-License-Identifier: Apache-2.0 */
/* Sandboxes, and the files in them, as resources. */
#include <string.h>

#include "base/path.h"
#include "surface/mcp/mcp.h"
#include "surface/mcp/routes.h"
#include "surface/native/sandbox_answer.h"

#define BASE "atoll://sandbox/"
#define FILES "/files/"
#define PAGE 100
#define FILE_MAX (8 << 20)

static void write_resource(struct buf *out, const struct sandbox_record *r, bool first)
{
	buf_addf(out, "%s{\"uri\":\"" BASE "%s\",\"name\":", first ? "" : ",", r->id);
	json_write_text(out, span_of(r->name));
	buf_add_text(out, ",\"description\":");
	json_write_text(out, span_of(sandbox_state_name(r->actual)));
	buf_add_text(out, ",\"mimeType\":\"application/json\"}");
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
	buf_add_text(out, "\"resources\":[");
	for (size_t i = 0; i < found.count; i++)
		write_resource(out, &found.items[i], i == 0);
	buf_add_byte(out, ']');
	if (found.next_page) {
		buf_add_text(out, ",\"nextCursor\":");
		json_write_text(out, span_of(found.next_page));
	}
	return 0;
}

int mcp_resource_templates(struct mcp *m, struct buf *out, struct mcp_fault *fault)
{
	(void)m;
	(void)fault;
	buf_add_text(out, "\"resourceTemplates\":["
	                  "{\"uriTemplate\":\"" BASE "{sandbox}\",\"name\":\"sandbox\","
	                  "\"description\":\"the state of a sandbox\","
	                  "\"mimeType\":\"application/json\"},"
	                  "{\"uriTemplate\":\"" BASE "{sandbox}" FILES "{+path}\","
	                  "\"name\":\"file\",\"description\":\"a file of its workspace\"}]");
	return 0;
}

/* ---- read ---- */

static void begin_contents(struct buf *out, const char *uri, const char *type)
{
	buf_add_text(out, "\"contents\":[{\"uri\":");
	json_write_text(out, span_of(uri));
	if (type)
		buf_addf(out, ",\"mimeType\":\"%s\"", type);
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
	begin_contents(out, uri, "application/json");
	buf_add_text(out, ",\"text\":");
	json_write_text(out, buf_span(&text));
	buf_add_text(out, "}]");
	return 0;
}

static void write_file(struct buf *out, const char *uri, struct span content)
{
	bool is_text = span_is_utf8(content) && span_find(content, '\0') < 0;

	begin_contents(out, uri, is_text ? "text/plain" : "application/octet-stream");
	if (is_text) {
		buf_add_text(out, ",\"text\":");
		json_write_text(out, content);
	} else {
		buf_add_text(out, ",\"blob\":\"");
		json_write_base64(out, content);
		buf_add_byte(out, '"');
	}
	buf_add_text(out, "}]");
}

static int read_file(struct mcp *m, const char *uri, const struct tools_target *which,
                     const char *path, struct buf *out, struct error *err)
{
	AUTO(api_target_done) struct api_target target = {.hold = {.fleet = NULL}};
	AUTO(buf_done) struct buf content = BUF(FILE_MAX);
	struct tool_call call;

	if (tools_open_call(m->rq, NULL, which, &target, &call, err) < 0)
		return mcp_fail_elsewhere(m, err);
	if (tool_load_file(&call, path, &content, err) < 0)
		return -1;
	write_file(out, uri, buf_span(&content));
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
	rest = (struct span){rest.data + sizeof(BASE) - 1, rest.size - (sizeof(BASE) - 1)};
	id = rest;
	if (span_find(rest, '/') >= 0)
		id.size = (size_t)span_find(rest, '/');
	rest = (struct span){rest.data + id.size, rest.size - id.size};
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
		result = FAIL(&err, ERROR_NOT_FOUND, "no resource '%.100s'", uri);
	if (result == 0)
		return 0;
	if (err.code != ERROR_NOT_FOUND)
		return mcp_refuse_error(fault, &err);
	return mcp_refuse(fault, m->message.is_modern ? MCP_INVALID_PARAMS : MCP_NO_RESOURCE, 200,
	                  "%s", err.text);
}
