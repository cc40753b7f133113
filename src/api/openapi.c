/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI 3.1 document: everything in it comes from the route tables and their shapes, but for
 * the media types of bodies that are no JSON. */
#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "account/account.h"
#include "api/api.h"
#include "json/json.h"

#define SHAPES_MAX 512

struct shape_set {
	const struct json_shape *shapes[SHAPES_MAX];
	unsigned count;
};

/* Bodies that are no JSON, by the end of the path. */
static const struct body_media {
	enum http_method method;
	const char *path_end, *request, *answer;
	bool needs_body; /* no bytes are no content that it takes */
} medias[] = {
        {HTTP_POST, "/:id/exec", NULL, "text/event-stream,application/x-ndjson"},
        {HTTP_POST, "/:id/code", NULL, "text/event-stream,application/x-ndjson"},
        {HTTP_GET, "/:process/stream", NULL, "text/event-stream,application/x-ndjson,text/plain"},
        {HTTP_GET, "/:id/logs", NULL, "text/plain,text/event-stream,application/x-ndjson"},
        {HTTP_POST, "/stdin", "application/octet-stream", NULL},
        {HTTP_GET, "/files/content", NULL, "application/octet-stream"},
        {HTTP_PUT, "/files/content", "application/octet-stream", NULL},
        {HTTP_POST, "/files/content", "application/octet-stream", NULL},
        {HTTP_POST, "/files/upload", "multipart/form-data", NULL, true},
        {HTTP_GET, "/files/tar", NULL, "application/x-tar"},
        {HTTP_POST, "/files/tar", "application/x-tar", NULL},
        {HTTP_POST, "/files/pack", NULL, "application/x-tar"},
        {HTTP_GET, "/files/watch", NULL, "text/event-stream,application/x-ndjson"},
        {HTTP_POST, "/templates/import", "application/octet-stream", NULL, true},
        {HTTP_GET, "/v1/events", NULL, "text/event-stream,application/x-ndjson"},
        {HTTP_GET, "/metrics", NULL, "text/plain"},
        {HTTP_GET, "/openapi.json", NULL, "application/json"},
};

static bool text_ends_with(const char *text, const char *end)
{
	size_t size = strlen(text), end_size = strlen(end);

	return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static const struct body_media *media_of(const struct route *route)
{
	static const struct body_media json = {.request = NULL};

	for (size_t i = 0; i < COUNT_OF(medias); i++) {
		if (medias[i].method == route->method &&
		    text_ends_with(route->path, medias[i].path_end))
			return &medias[i];
	}
	return &json;
}

static void collect_shape(struct shape_set *set, const struct json_shape *shape)
{
	if (!shape)
		return;
	for (unsigned i = 0; i < set->count; i++) {
		if (strcmp(set->shapes[i]->name, shape->name) == 0) {
			assert(set->shapes[i] == shape); /* two shapes of one name */
			return;
		}
	}
	assert(set->count < SHAPES_MAX);
	set->shapes[set->count++] = shape;
	for (const struct json_member *m = shape->members; m < json_shape_end(shape); m++)
		collect_shape(set, m->of);
}

static void write_schemas(struct buf *out)
{
	struct shape_set set = {.count = 0};

	for (const struct route *const *table = api_routes; *table; table++) {
		for (const struct route *r = *table; r->path; r++) {
			collect_shape(&set, r->body);
			collect_shape(&set, r->answer);
		}
	}
	buf_add_text(out, "\"schemas\":{\"Error\":{\"type\":\"object\",\"properties\":{\"error\":{"
	                  "\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\"},"
	                  "\"message\":{\"type\":\"string\"},\"hint\":{\"type\":\"string\"},"
	                  "\"request_id\":{\"type\":\"string\"}},"
	                  "\"required\":[\"code\",\"message\",\"request_id\"]}},"
	                  "\"required\":[\"error\"]}");
	for (unsigned i = 0; i < set.count; i++) {
		buf_addf(out, ",\"%s\":", set.shapes[i]->name);
		json_write_schema(out, set.shapes[i]);
	}
	buf_add_byte(out, '}');
}

static void write_path_parameters(struct buf *out, const char *path, bool *first)
{
	for (const char *at = strpbrk(path, ":*"); at; at = strpbrk(at + 1, ":*")) {
		buf_addf(out,
		         "%s{\"name\":\"%.*s\",\"in\":\"path\",\"required\":true,"
		         "\"schema\":{\"type\":\"string\"}}",
		         *first ? "" : ",", (int)strcspn(at + 1, "/"), at + 1);
		*first = false;
	}
}

/* The shape's own schema, taken apart: one parameter for each of its properties. */
static void write_query_parameters(struct buf *out, const struct json_shape *query, bool *first)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	AUTO(buf_done) struct buf schema = BUF(1024 * 1024);
	const struct json_value *whole, *properties;
	struct error err;

	json_write_schema(&schema, query);
	if (json_load(&a, buf_span(&schema), &whole, &err) < 0)
		return;
	properties = json_get(whole, "properties");
	for (const struct json_member *m = query->members; m < json_shape_end(query); m++) {
		const char *name = json_member_name(m);

		buf_addf(out, "%s{\"name\":\"%s\",\"in\":\"query\",\"required\":%s,\"schema\":",
		         *first ? "" : ",", name, m->flags & JSON_REQUIRED ? "true" : "false");
		json_print(out, json_get(properties, name), 0);
		buf_add_byte(out, '}');
		*first = false;
	}
}

static void write_parameters(struct buf *out, const struct route *route)
{
	bool first = true;

	buf_add_text(out, ",\"parameters\":[");
	write_path_parameters(out, route->path, &first);
	if (route->query)
		write_query_parameters(out, route->query, &first);
	buf_add_byte(out, ']');
}

static void write_content(struct buf *out, const struct json_shape *shape, const char *types)
{
	struct span rest = span_of(types), type;
	bool first = true;

	buf_add_text(out, "\"content\":{");
	if (shape) {
		buf_addf(out,
		         "\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}",
		         shape->name);
		first = false;
	}
	while (rest.size > 0) {
		(void)span_split(&rest, ',', &type);
		buf_addf(out, "%s\"%.*s\":{\"schema\":{\"type\":\"string\"}}", first ? "" : ",",
		         (int)type.size, type.data);
		first = false;
	}
	buf_add_byte(out, '}');
}

/* No body is one without members, or a file without bytes. */
static bool needs_body(const struct route *route, const struct body_media *media)
{
	if (route->flags & ROUTE_NEEDS_BODY || media->needs_body)
		return true;
	if (!route->body)
		return false;
	for (const struct json_member *m = route->body->members; m < json_shape_end(route->body);
	     m++)
		if (m->flags & JSON_REQUIRED)
			return true;
	return false;
}

static void write_request(struct buf *out, const struct route *route,
                          const struct body_media *media)
{
	if (!route->body && !media->request)
		return;
	buf_addf(out, ",\"requestBody\":{\"required\":%s,",
	         needs_body(route, media) ? "true" : "false");
	write_content(out, route->body, media->request);
	buf_add_byte(out, '}');
}

static void write_responses(struct buf *out, const struct route *route, const char *types)
{
	int status = route->flags & ROUTE_WEBSOCKET ? 101 : route->status ? route->status : 200;

	buf_addf(out, ",\"responses\":{\"%d\":{\"description\":", status);
	json_write_text(out, span_of(route->flags & ROUTE_WEBSOCKET          ? "a WebSocket"
	                             : status == 204                         ? "done"
	                             : route->answer && route->answer->about ? route->answer->about
	                                                                     : route->summary));
	if (route->answer || types) {
		buf_add_byte(out, ',');
		write_content(out, route->answer, types);
	}
	buf_add_text(out, "},\"default\":{\"description\":\"the call failed\",\"content\":{"
	                  "\"application/json\":{\"schema\":{\"$ref\":"
	                  "\"#/components/schemas/Error\"}}}}}");
}

/* Of routes that tell what they wait for, http/server/parked.h. */
#define PROGRESS_TYPES "text/event-stream"

static void write_scopes(struct buf *out, const struct route *route)
{
	bool first = true;

	if (route->flags & ROUTE_PUBLIC) {
		buf_add_text(out, ",\"security\":[]");
		return;
	}
	buf_add_text(out, ",\"x-scopes\":[");
	for (unsigned bit = 0; SCOPE_ALL >> bit; bit++) {
		if (!(route->scope >> bit & 1))
			continue;
		buf_addf(out, "%s\"%s\"", first ? "" : ",",
		         account_scope_name((enum account_scope)(1u << bit)));
		first = false;
	}
	buf_add_byte(out, ']');
}

static const char *const method_names[] = {
        [HTTP_GET] = "get",         [HTTP_HEAD] = "head",   [HTTP_POST] = "post",
        [HTTP_PUT] = "put",         [HTTP_PATCH] = "patch", [HTTP_DELETE] = "delete",
        [HTTP_OPTIONS] = "options", [HTTP_ANY] = "get",
};

/* "getApiSandboxInstancesId": method and path, for generated clients. */
static void write_operation_id(struct buf *out, const struct route *route)
{
	bool upper = true;

	buf_addf(out, "\"operationId\":\"%s", method_names[route->method]);
	for (const char *c = route->path; *c; c++) {
		if (isalnum((unsigned char)*c))
			buf_add_byte(out, (char)(upper ? toupper((unsigned char)*c) : *c));
		upper = !isalnum((unsigned char)*c);
	}
	buf_add_byte(out, '"');
}

static void write_operation(struct buf *out, const struct route *route)
{
	const struct body_media *media = media_of(route);

	buf_addf(out, "\"%s\":{", method_names[route->method]);
	write_operation_id(out, route);
	buf_add_text(out, ",\"summary\":");
	json_write_text(out, span_of(route->summary));
	buf_addf(out, ",\"tags\":[\"%s\"]", route->tag);
	write_scopes(out, route);
	write_parameters(out, route);
	write_request(out, route, media);
	write_responses(out, route, route->flags & ROUTE_PROGRESS ? PROGRESS_TYPES : media->answer);
	buf_add_byte(out, '}');
}

static void write_path(struct buf *out, const char *path)
{
	for (const char *c = path; *c; c++) {
		size_t size = strcspn(c + 1, "/");

		if (*c != ':' && *c != '*') {
			buf_add_byte(out, *c);
			continue;
		}
		buf_addf(out, "{%.*s}", (int)size, c + 1);
		c += size;
	}
}

typedef void route_visitor(void *context, const struct route *route);

static void each_route(route_visitor *visit, void *context)
{
	for (const struct route *const *table = api_routes; *table; table++) {
		for (const struct route *r = *table; r->path; r++) {
			if (!(r->flags & ROUTE_HIDDEN))
				visit(context, r);
		}
	}
}

struct path_walk {
	struct buf *out;
	const struct route *first; /* of the path at hand */
	bool any, is_first;        /* paths were written; the row is its path's first */
	unsigned operations;
};

static void check_first(void *context, const struct route *route)
{
	struct path_walk *w = context;

	if (strcmp(route->path, w->first->path) == 0 && w->operations++ == 0)
		w->is_first = route == w->first;
}

static void write_same_path(void *context, const struct route *route)
{
	struct path_walk *w = context;

	if (strcmp(route->path, w->first->path) != 0)
		return;
	if (w->operations++ > 0)
		buf_add_byte(w->out, ',');
	write_operation(w->out, route);
}

static void write_path_item(void *context, const struct route *route)
{
	struct path_walk *w = context;

	w->first = route;
	w->operations = 0;
	each_route(check_first, w);
	if (!w->is_first)
		return;
	buf_add_text(w->out, w->any ? ",\"" : "\"");
	w->any = true;
	write_path(w->out, route->path);
	buf_add_text(w->out, "\":{");
	w->operations = 0;
	each_route(write_same_path, w);
	buf_add_byte(w->out, '}');
}

void api_write_openapi(struct buf *out)
{
	struct path_walk walk = {.out = out};

	buf_add_text(
	        out,
	        "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Atoll\",\"version\":\"" ATOLL_VERSION
	        "\",\"description\":\"Isolated computers for AI agents.\","
	        "\"license\":{\"name\":\"Apache-2.0\",\"identifier\":\"Apache-2.0\"}},"
	        "\"security\":[{\"bearer\":[]},{\"header\":[]}],\"paths\":{");
	each_route(write_path_item, &walk);
	buf_add_text(out,
	             "},\"components\":{\"securitySchemes\":{"
	             "\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\"},"
	             "\"header\":{\"type\":\"apiKey\",\"in\":\"header\",\"name\":\"X-API-Key\"}},");
	write_schemas(out);
	buf_add_text(out, "}}");
}

static int openapi_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	(void)rq;
	(void)body;
	(void)err;
	api_write_openapi(reply_buf(reply, "application/json"));
	return 0;
}

const struct route openapi_routes[] = {
        {HTTP_GET, "/openapi.json", SCOPE_NONE, ROUTE_PUBLIC, .handle = openapi_get,
         .tag = "operator", .summary = "This document"},
        {.path = NULL},
};
