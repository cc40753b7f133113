/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/e2b/e2b.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "fleet/core/access.h"
#include "fleet/core/sandboxes.h"
#include "fleet/snapshot/snapshots.h"
#include "http/server/failure.h"
#include "json/write.h"
#include "store/sandbox_record.h"
#include "store/templates.h"
#include "surface/e2b/announced.h"
#include "surface/e2b/routes.h"
#include "surface/e2b/surface.h"

/* Writes {"code":404,"message":"…"}, where clients check the code. The calls for the content of
 * volumes have a specification of their own, in which the code is a text. */
bool e2b_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out)
{
	static const char content[] = "/volumecontent/";
	AUTO(buf_done) struct buf text = BUF(ERROR_TEXT_MAX + ERROR_HINT_MAX + 8);

	if (!rq->route || !rq->route->tag || strcmp(rq->route->tag, E2B_TAG) != 0)
		return false;
	buf_add_text(&text, failure->message);
	if (failure->hint && failure->hint[0])
		buf_addf(&text, " (%s)", failure->hint);
	json_begin_object(out, NULL);
	if (strncmp(rq->path, content, sizeof(content) - 1) == 0)
		json_add_text(out, "code", arena_format(rq->arena, "%d", failure->status));
	else
		json_add_whole(out, "code", failure->status);
	json_add_span(out, "message", buf_span(&text));
	json_end_object(out);
	return true;
}

static const char *const states[SANDBOX_STATE_COUNT] = {
        [SANDBOX_PENDING] = "running", [SANDBOX_CREATING] = "running",
        [SANDBOX_STARTED] = "running", [SANDBOX_PAUSED] = "paused",
        [SANDBOX_STOPPING] = "paused", [SANDBOX_STOPPED] = "paused",
        [SANDBOX_ARCHIVED] = "paused",
};

bool e2b_state_of(const struct sandbox_record *r, const char **ret)
{
	*ret = states[r->actual];
	return *ret != NULL;
}

int e2b_sandbox_find(struct request *rq, struct sandbox_record *ret, struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	const char *state;

	if (fleet_find(api_of(rq)->fleet, rq->arena, &ref, ret, err) < 0)
		return -1;
	if (!e2b_state_of(ret, &state))
		return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' was not found", ref.id_or_name);
	return 0;
}

static const struct json_member e2b_sandbox_shape_members[] = {
        JSON_TEXT_MEMBER(e2b_sandbox, template_id, .name = "templateID"),
        JSON_TEXT_MEMBER(e2b_sandbox, sandbox_id, .name = "sandboxID"),
        JSON_TEXT_MEMBER(e2b_sandbox, alias),
        JSON_TEXT_MEMBER(e2b_sandbox, client_id, .name = "clientID"),
        JSON_TEXT_MEMBER(e2b_sandbox, envd_version, .name = "envdVersion"),
        JSON_TEXT_MEMBER(e2b_sandbox, envd_access_token, .name = "envdAccessToken"),
        JSON_TEXT_MEMBER(e2b_sandbox, traffic_access_token, .name = "trafficAccessToken",
                         .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(e2b_sandbox, domain, .flags = JSON_NULLABLE),
};
JSON_SHAPE(e2b_sandbox_shape, "E2bSandbox", e2b_sandbox, "A sandbox, and how to reach it");

static const char *token_of(struct request *rq, const char *id, enum fleet_access access)
{
	char token[FLEET_ACCESS_TOKEN_SIZE + 1];

	fleet_access_token(api_of(rq)->fleet, id, access, token);
	return arena_text(rq->arena, token);
}

struct e2b_sandbox e2b_sandbox_of(struct request *rq, const struct sandbox_record *r)
{
	const char *domain = api_of(rq)->config->preview_domain;
	struct e2b_sandbox out = {
	        .template_id = e2b_name_short(rq->arena, r->template_name),
	        .sandbox_id = r->id,
	        .alias = r->template_name,
	        .client_id = r->node[0] ? r->node : "atoll",
	        .envd_version = E2B_ENVD_VERSION,
	        .envd_access_token = token_of(rq, r->id, FLEET_ACCESS_AGENT),
	        /* Guarded ports need this token; the code interpreter's contexts need it in every
	           sandbox. */
	        .traffic_access_token = token_of(rq, r->id, FLEET_ACCESS_TRAFFIC),
	        .domain = domain[0] ? domain : NULL,
	};

	return out;
}

#define TAG_DEFAULT "default"
#define MCP_TEMPLATE "mcp-gateway"
/* Separates name and tag in the store's name; neither contains it. */
#define TAG_MARK ".."

static bool is_plain(struct span text)
{
	if (text.size == 0 || text.size > SANDBOX_NAME_MAX ||
	    !isalnum((unsigned char)text.data[0]) ||
	    !isalnum((unsigned char)text.data[text.size - 1]))
		return false;
	for (size_t i = 0; i < text.size; i++) {
		char c = text.data[i];

		if ((!isalnum((unsigned char)c) && c != '.' && c != '_' && c != '-') ||
		    (c == '.' && text.data[i - 1] == '.'))
			return false;
	}
	return true;
}

int e2b_name_parse(struct arena *a, const char *text, struct e2b_name *ret, struct error *err)
{
	struct span rest = span_of(text), name = rest;
	bool has_tag;

	while (span_find(rest, '/') >= 0)
		(void)span_split(&rest, '/', &name);
	has_tag = span_split(&rest, ':', &name);
	if (!is_plain(name) || (has_tag && !is_plain(rest))) {
		(void)FAIL(err, ERROR_INVALID, "'%.100s' is not a name, or a name and a tag", text);
		error_hint(err, "letters, digits, '.', '_' and '-', up to %d", SANDBOX_NAME_MAX);
		return -1;
	}
	ret->name = arena_copy(a, name);
	ret->tag = has_tag ? arena_copy(a, rest) : TAG_DEFAULT;
	ret->own = strcmp(ret->tag, TAG_DEFAULT) == 0
	                   ? ret->name
	                   : arena_format(a, "%s" TAG_MARK "%s", ret->name, ret->tag);
	return 0;
}

const char *e2b_name_format(struct arena *a, const char *own)
{
	const char *mark = strstr(own, TAG_MARK);

	if (!mark)
		return arena_format(a, "%s:" TAG_DEFAULT, own);
	return arena_format(a, "%.*s:%s", (int)(mark - own), own, mark + strlen(TAG_MARK));
}

const char *e2b_name_short(struct arena *a, const char *own)
{
	return strstr(own, TAG_MARK) ? e2b_name_format(a, own) : own;
}

int e2b_template_find(struct request *rq, const struct e2b_name *name, struct template_record *ret,
                      struct error *err)
{
	struct api *api = api_of(rq);

	if (store_template_find(api->store, rq->arena, api_project(rq), name->own, ret, err) == 0)
		return 0;
	if (err->code == ERROR_NOT_FOUND && strcmp(name->own, MCP_TEMPLATE) == 0)
		error_hint(err, "E2B's option mcp needs a template of that name with its gateway; "
		                "this server's own tools are at /mcp");
	/* The default template of @e2b/code-interpreter. The server's default template replaces it,
	 * because contexts need no special template. */
	if (err->code != ERROR_NOT_FOUND || strcmp(name->own, "code-interpreter-v1") != 0)
		return -1;
	return store_template_find(api->store, rq->arena, api_project(rq),
	                           api->config->default_template, ret, err);
}

int e2b_snapshot_find(struct request *rq, const struct e2b_name *name, struct snapshot_record *ret,
                      struct error *err)
{
	const struct fleet_ref ref = {api_project(rq), name->own};

	return fleet_snapshot_find(api_of(rq)->fleet, rq->arena, &ref, ret, err);
}

#define GROUPS 4
/* Bits of the eight hexadecimal digits of a group; an id uses the lower ones. */
#define GROUP_BITS 25
#define GROUP_MARK_BITS (32 - GROUP_BITS)
#define GROUP_MARK ((1U << GROUP_MARK_BITS) - 1)
_Static_assert(GROUPS *GROUP_MARK_BITS == E2B_MARK_BITS, "the mark fits into the free bits");

static const char digits[] = "0123456789abcdef";

const char *e2b_uuid_format(struct arena *a, const char *id, uint32_t mark)
{
	char hex[ID_HEX_SIZE];

	id_to_hex(id, hex);
	for (unsigned group = 0; group < GROUPS; group++) {
		uint32_t bits = mark >> GROUP_MARK_BITS * group & GROUP_MARK;
		char *at = hex + (size_t)8 * group;

		/* The group's first bit of the id is the lowest bit of the second digit. */
		at[0] = digits[bits >> 3];
		at[1] = digits[(bits & 7) << 1 | (at[1] == '1')];
	}
	return arena_format(a, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
	                    hex + 20);
}

static bool take_mark(char hex[ID_HEX_SIZE], uint32_t *ret)
{
	uint32_t mark = 0;

	for (unsigned group = 0; group < GROUPS; group++) {
		char *at = hex + (size_t)8 * group;
		const char *first = strchr(digits, at[0]), *second = strchr(digits, at[1]);

		if (!at[0] || !at[1] || !first || !second)
			return false;
		mark |= (uint32_t)((first - digits) << 3 | (second - digits) >> 1)
		        << GROUP_MARK_BITS * group;
		at[0] = '0';
		at[1] = digits[(second - digits) & 1];
	}
	*ret = mark;
	return true;
}

int e2b_uuid_parse(const char *text, struct id *ret, uint32_t *ret_mark, struct error *err)
{
	char hex[ID_HEX_SIZE];
	uint32_t mark;
	size_t size = 0;

	for (size_t i = 0; text[i] && size + 1 < sizeof(hex); i++)
		if (text[i] != '-' || (i != 8 && i != 13 && i != 18 && i != 23))
			hex[size++] = text[i];
	hex[size] = '\0';
	if (strlen(text) != ID_HEX_SIZE - 1 + 4 || size != ID_HEX_SIZE - 1 || text[23] != '-' ||
	    !take_mark(hex, &mark) || !id_from_hex(hex, ret))
		return FAIL_MISSING(err, "build", text);
	*ret_mark = mark;
	return 0;
}

void e2b_state_open(struct api *api)
{
	api->e2b = memory_new(sizeof(*api->e2b));
	api->e2b->builds = e2b_announced_builds_new();
}

void e2b_state_close(struct api *api)
{
	if (!api->e2b)
		return;
	e2b_announced_builds_free(api->e2b->builds);
	free(api->e2b);
	api->e2b = NULL;
}
