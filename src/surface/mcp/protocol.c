/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/mcp/protocol.h"

#include <stdio.h>
#include <string.h>

#include "edge/text.h"
#include "json/write.h"

#define META "io.modelcontextprotocol/"
#define METHOD_MAX 128

const char *const mcp_legacy_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05",
                                           NULL};
const char *const mcp_modern_versions[] = {MCP_MODERN, NULL};

int mcp_refuse(struct mcp_fault *fault, int code, int status, const char *format, ...)
{
	va_list args;

	*fault = (struct mcp_fault){.code = code, .status = status};
	va_start(args, format);
	(void)vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	return -1;
}

static bool is_among(const char *word, const char *const *words)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words != NULL;
}

void mcp_print_id(struct buf *out, const struct json_value *id)
{
	if (!id)
		return;
	json_print(out, id, 0);
	if (out->overflowed || out->size == 0 ||
	    (out->data[0] != '"' && out->data[0] != '-' &&
	     (out->data[0] < '0' || out->data[0] > '9')))
		buf_reset(out);
}

static int read_id(struct arena *a, const struct json_value *message, struct mcp_message *ret,
                   struct mcp_fault *fault)
{
	const struct json_value *id = json_get(message, "id");
	AUTO(buf_done) struct buf text = BUF(MCP_ID_MAX);

	if (!id)
		return 0;
	mcp_print_id(&text, id);
	if (text.size == 0)
		return mcp_refuse(fault, MCP_INVALID_REQUEST, 400,
		                  "id: a text or a number of at most %d bytes", MCP_ID_MAX);
	ret->id = (struct span){arena_copy(a, buf_span(&text)), text.size};
	return 0;
}

static int read_message(struct arena *a, const struct json_value *message, struct mcp_message *ret,
                        struct mcp_fault *fault)
{
	const struct json_value *params = json_get(message, "params");
	const char *first;
	bool is_answer = json_get(message, "result") || json_get(message, "error");

	if (!json_member_at(message, 0, &first))
		return mcp_refuse(fault, MCP_INVALID_REQUEST, 400,
		                  "a message is one JSON object; there are no batches");
	if (read_id(a, message, ret, fault) < 0)
		return -1;
	if (strcmp(json_text(json_get(message, "jsonrpc"), ""), "2.0") != 0)
		return mcp_refuse(fault, MCP_INVALID_REQUEST, 400, "jsonrpc: \"2.0\" is expected");
	ret->method = json_text(json_get(message, "method"), NULL);
	if (!ret->method && is_answer)
		return 0;
	if (!ret->method || !ret->method[0] || strlen(ret->method) > METHOD_MAX)
		return mcp_refuse(fault, MCP_INVALID_REQUEST, 400, "method is missing");
	if (params && json_count(params) > 0 && !json_member_at(params, 0, &first))
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 400, "params: an object is expected");
	ret->params = params;
	return 0;
}

/* A client may take any version of the list of server/discover, so a legacy one in _meta is told
 * how that era begins. */
static int refuse_version(const char *requested, struct mcp_fault *fault)
{
	if (is_among(requested, mcp_legacy_versions))
		(void)mcp_refuse(fault, MCP_UNSUPPORTED_VERSION, 400,
		                 "the protocol version %s has no _meta: begin with initialize, or "
		                 "use %s",
		                 requested, MCP_MODERN);
	else
		(void)mcp_refuse(fault, MCP_UNSUPPORTED_VERSION, 400,
		                 "unsupported protocol version '%.64s': use %s, or begin with "
		                 "initialize and %s",
		                 requested, MCP_MODERN, MCP_LEGACY);
	fault->requested = requested;
	return -1;
}

/* Decodes "=?base64?…?=", the form for a text that a header cannot hold. */
static const char *header_text(struct arena *a, const char *value)
{
	static const char prefix[] = "=?base64?", suffix[] = "?=";
	size_t size = strlen(value), around = sizeof(prefix) - 1 + sizeof(suffix) - 1;
	const char *text;
	struct error ignored;

	if (size < around || strncmp(value, prefix, sizeof(prefix) - 1) != 0 ||
	    strcmp(value + size - (sizeof(suffix) - 1), suffix) != 0)
		return value;
	text = arena_format(a, "%.*s", (int)(size - around), value + sizeof(prefix) - 1);
	return text_read_base64(a, text, &text, &ignored) == 0 ? text : value;
}

/* The parameter that the header Mcp-Name must repeat; NULL: none. */
static const char *name_member(const char *method)
{
	static const struct {
		const char *method, *member;
	} methods[] = {{"tools/call", "name"}, {"prompts/get", "name"}, {"resources/read", "uri"}};

	for (size_t i = 0; i < COUNT_OF(methods); i++)
		if (strcmp(methods[i].method, method) == 0)
			return methods[i].member;
	return NULL;
}

static int check_header(struct arena *a, const char *name, const char *value, const char *expected,
                        struct mcp_fault *fault)
{
	if (!value)
		return mcp_refuse(fault, MCP_HEADER_MISMATCH, 400, "the header %s is missing",
		                  name);
	if (strcmp(header_text(a, value), expected) != 0)
		return mcp_refuse(fault, MCP_HEADER_MISMATCH, 400,
		                  "the header %s says '%.64s', the body '%.64s'", name, value,
		                  expected);
	return 0;
}

static int check_modern(struct arena *a, const struct json_value *meta,
                        const struct mcp_headers *headers, struct mcp_message *ret,
                        struct mcp_fault *fault)
{
	const char *version = json_text(json_get(meta, META "protocolVersion"), NULL), *first;
	const struct json_value *capabilities = json_get(meta, META "clientCapabilities");
	const char *member = name_member(ret->method);

	ret->is_modern = true;
	/* A notification needs no version. */
	if (ret->id.size == 0)
		return 0;
	if (!version)
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 400,
		                  "params._meta: " META "protocolVersion is missing");
	if (!headers->absent &&
	    check_header(a, "MCP-Protocol-Version", headers->version, version, fault) < 0)
		return -1;
	if (!is_among(version, mcp_modern_versions))
		return refuse_version(version, fault);
	if (!capabilities ||
	    (json_count(capabilities) > 0 && !json_member_at(capabilities, 0, &first)))
		return mcp_refuse(fault, MCP_INVALID_PARAMS, 400,
		                  "params._meta: " META "clientCapabilities is missing");
	ret->version = version;
	ret->capabilities = capabilities;
	ret->log_level = json_text(json_get(meta, META "logLevel"), NULL);
	if (headers->absent)
		return 0;
	if (check_header(a, "Mcp-Method", headers->method, ret->method, fault) < 0)
		return -1;
	if (member && check_header(a, "Mcp-Name", headers->name,
	                           json_text(json_get(ret->params, member), ""), fault) < 0)
		return -1;
	return 0;
}

int mcp_parse(struct arena *a, struct span body, const struct mcp_headers *headers,
              struct mcp_message *ret, struct mcp_fault *fault)
{
	const struct json_value *message, *meta;
	const char *header = headers->version;
	struct error err;

	*ret = (struct mcp_message){.version = MCP_LEGACY};
	if (json_load(a, body, &message, &err) < 0)
		return mcp_refuse(fault, MCP_PARSE_ERROR, 400, "%.200s", err.text);
	if (read_message(a, message, ret, fault) < 0)
		return -1;
	meta = json_get(ret->params, "_meta");
	if (!ret->method)
		return 0;
	if (json_get(meta, META "protocolVersion") ||
	    (header && is_among(header, mcp_modern_versions)))
		return check_modern(a, meta, headers, ret, fault);
	if (!header)
		return 0;
	if (!is_among(header, mcp_legacy_versions))
		return refuse_version(header, fault);
	ret->version = header;
	return 0;
}

static void add_era(struct buf *out, const char *const *versions)
{
	for (; *versions; versions++)
		json_add_text(out, NULL, *versions);
}

void mcp_add_versions(struct buf *out, const char *name)
{
	json_begin_list(out, name);
	add_era(out, mcp_modern_versions);
	add_era(out, mcp_legacy_versions);
	json_end_list(out);
}

void mcp_begin_answer(struct buf *out, struct span id)
{
	json_begin_object(out, NULL);
	json_add_text(out, "jsonrpc", "2.0");
	json_add_raw(out, "id", id);
}

void mcp_write_fault(struct buf *out, struct span id, const struct mcp_fault *fault)
{
	mcp_begin_answer(out, id);
	json_begin_object(out, "error");
	json_add_whole(out, "code", fault->code);
	json_add_text(out, "message", fault->text);
	if (fault->requested) {
		json_begin_object(out, "data");
		mcp_add_versions(out, "supported");
		json_add_text(out, "requested", fault->requested);
		json_end_object(out);
	}
	if (fault->missing) {
		json_begin_object(out, "data");
		json_begin_object(out, "requiredCapabilities");
		json_begin_object(out, fault->missing);
		json_end_object(out);
		json_end_object(out);
		json_end_object(out);
	}
	json_end_object(out);
	json_end_object(out);
}
