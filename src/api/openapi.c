/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI 3.1 document: everything in it comes from the route tables and their shapes, but for
 * the media types of bodies that are no JSON. */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "account/account.h"
#include "api/api.h"
#include "api/stream_shapes.h"
#include "json/json.h"
#include "json/write.h"

#define SHAPES_MAX 512
#define NAME_SIZE 256 /* of a path, an operation or a media type */
/* An object of texts, for json_add_map. */
#define TEXTS(...)                                                                                 \
	(&(struct json_map){.pairs = (struct json_pair[]){__VA_ARGS__},                            \
	                    .count = COUNT_OF(((struct json_pair[]){__VA_ARGS__}))})

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
        {HTTP_GET, "/v1/stats", NULL, "text/event-stream,application/x-ndjson"},
        {HTTP_GET, "/v1/events", NULL, "text/event-stream,application/x-ndjson"},
        {HTTP_GET, "/metrics", NULL, "text/plain"},
        {HTTP_GET, "/openapi.json", NULL, "application/json"},
};

static const struct body_media *media_of(const struct route *route)
{
	static const struct body_media json = {.request = NULL};

	for (size_t i = 0; i < COUNT_OF(medias); i++) {
		if (medias[i].method == route->method &&
		    route_path_ends_with(route, medias[i].path_end))
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

static void write_quota_schema(struct buf *out)
{
	json_begin_object(out, "quota");
	json_add_text(out, "type", "object");
	json_add_text(out, "description", "the quota or budget that is used up");
	json_begin_object(out, "properties");
	json_add_map(out, "name", TEXTS({"type", "string"}));
	json_add_map(out, "scope", TEXTS({"type", "string"}));
	json_add_map(out, "limit", TEXTS({"type", "number"}));
	json_add_map(out, "used", TEXTS({"type", "number"}));
	json_begin_object(out, "reset_at");
	json_add_texts(out, "type", (const char *const[]){"string", "null", NULL});
	json_add_text(out, "format", "date-time");
	json_add_text(out, "description", "null: when the use falls");
	json_end_object(out);
	json_end_object(out);
	json_end_object(out);
}

static void write_error_schema(struct buf *out)
{
	static const char *const required[] = {"code", "message", "request_id", NULL};
	static const char *const outer[] = {"error", NULL};

	json_begin_object(out, "Error");
	json_add_text(out, "type", "object");
	json_begin_object(out, "properties");
	json_begin_object(out, "error");
	json_add_text(out, "type", "object");
	json_begin_object(out, "properties");
	json_add_map(out, "code", TEXTS({"type", "string"}));
	json_add_map(out, "message", TEXTS({"type", "string"}));
	json_add_map(
	        out, "resource",
	        TEXTS({"type", "string"},
	              {"description",
	               "kind of the object that does not exist, such as sandbox or template"}));
	json_add_map(out, "hint", TEXTS({"type", "string"}));
	write_quota_schema(out);
	json_add_map(out, "request_id", TEXTS({"type", "string"}));
	json_end_object(out);
	json_add_texts(out, "required", required);
	json_end_object(out);
	json_end_object(out);
	json_add_texts(out, "required", outer);
	json_end_object(out);
}

static void write_schemas(struct buf *out)
{
	struct shape_set set = {.count = 0};

	for (const struct route *const *table = api_routes; *table; table++) {
		for (const struct route *r = *table; r->path; r++) {
			collect_shape(&set, r->body);
			collect_shape(&set, r->answer);
			collect_shape(&set, r->also);
			collect_shape(&set, stream_messages_of(r)->server);
			collect_shape(&set, stream_messages_of(r)->server_also);
			collect_shape(&set, stream_messages_of(r)->client);
		}
	}
	json_begin_object(out, "schemas");
	write_error_schema(out);
	for (unsigned i = 0; i < set.count; i++) {
		json_add_name(out, set.shapes[i]->name);
		json_write_schema(out, set.shapes[i]);
	}
	json_end_object(out);
}

/* All but its schema, which the caller writes. */
static void begin_parameter(struct buf *out, struct span name, const char *in, bool is_required)
{
	json_begin_object(out, NULL);
	json_add_span(out, "name", name);
	json_add_text(out, "in", in);
	json_add_bool(out, "required", is_required);
}

static void add_content(struct buf *out, const char *shape)
{
	json_begin_object(out, "application/json");
	schema_reference_write(out, "schema", shape);
	json_end_object(out);
}

static void write_path_parameters(struct buf *out, const char *path)
{
	for (const char *at = strpbrk(path, ":*"); at; at = strpbrk(at + 1, ":*")) {
		begin_parameter(out, (struct span){at + 1, strcspn(at + 1, "/")}, "path", true);
		json_add_map(out, "schema", TEXTS({"type", "string"}));
		json_end_object(out);
	}
}

/* The shape's own schema, taken apart: one parameter for each of its properties. */
static void write_query_parameters(struct buf *out, const struct json_shape *query)
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

		begin_parameter(out, span_of(name), "query", m->flags & JSON_REQUIRED);
		json_add_value(out, "schema", json_get(properties, name));
		json_end_object(out);
	}
}

static void write_parameters(struct buf *out, const struct route *route)
{
	json_begin_list(out, "parameters");
	write_path_parameters(out, route->path);
	if (route->query)
		write_query_parameters(out, route->query);
	json_end_list(out);
}

static bool is_of_messages(struct span type)
{
	return span_equals_text(type, "text/event-stream") ||
	       span_equals_text(type, "application/x-ndjson");
}

static void write_content(struct buf *out, const struct json_shape *shape, const char *types,
                          const struct stream_messages *messages)
{
	struct span rest = span_of(types), type;
	char name[NAME_SIZE];

	json_begin_object(out, "content");
	if (shape)
		add_content(out, shape->name);
	while (rest.size > 0) {
		(void)span_split(&rest, ',', &type);
		(void)snprintf(name, sizeof(name), "%.*s", (int)type.size, type.data);
		json_begin_object(out, name);
		json_add_map(out, "schema", TEXTS({"type", "string"}));
		if (messages && is_of_messages(type))
			stream_messages_write(out, messages);
		json_end_object(out);
	}
	json_end_object(out);
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
	json_begin_object(out, "requestBody");
	json_add_bool(out, "required", needs_body(route, media));
	write_content(out, route->body, media->request, NULL);
	json_end_object(out);
}

static void write_also(struct buf *out, const struct json_shape *shape)
{
	json_begin_object(out, "200");
	json_add_text(out, "description", shape->about);
	write_content(out, shape, NULL, NULL);
	json_end_object(out);
}

static void write_responses(struct buf *out, const struct route *route, const char *types)
{
	int status = route->flags & ROUTE_WEBSOCKET ? 101 : route->status ? route->status : 200;
	char name[16];

	(void)snprintf(name, sizeof(name), "%d", status);
	json_begin_object(out, "responses");
	json_begin_object(out, name);
	json_add_text(out, "description",
	              route->flags & ROUTE_WEBSOCKET          ? "a WebSocket"
	              : status == 204                         ? "done"
	              : route->answer && route->answer->about ? route->answer->about
	                                                      : route->summary);
	if (route->answer || types)
		write_content(out, route->answer, types, stream_messages_of(route));
	stream_websocket_write(out, route);
	json_end_object(out);
	if (route->also)
		write_also(out, route->also);
	json_begin_object(out, "default");
	json_add_text(out, "description", "the call failed");
	json_begin_object(out, "content");
	add_content(out, "Error");
	json_end_object(out);
	json_end_object(out);
	json_end_object(out);
}

/* Of routes that tell what they wait for, http/server/parked.h. */
#define PROGRESS_TYPES "text/event-stream"

static void write_scopes(struct buf *out, const struct route *route)
{
	if (route->flags & ROUTE_PUBLIC) {
		json_add_texts(out, "security", NULL);
		return;
	}
	json_begin_list(out, "x-scopes");
	for (unsigned bit = 0; SCOPE_ALL >> bit; bit++)
		if (route->scope >> bit & 1)
			json_add_text(out, NULL,
			              account_scope_name((enum account_scope)(1u << bit)));
	json_end_list(out);
}

static const char *const method_names[] = {
        [HTTP_GET] = "get",         [HTTP_HEAD] = "head",   [HTTP_POST] = "post",
        [HTTP_PUT] = "put",         [HTTP_PATCH] = "patch", [HTTP_DELETE] = "delete",
        [HTTP_OPTIONS] = "options", [HTTP_ANY] = "get",
};

/* "getApiSandboxInstancesId": method and path, for generated clients. */
static void write_operation_id(struct buf *out, const struct route *route)
{
	AUTO(buf_done) struct buf id = BUF(NAME_SIZE);
	bool upper = true;

	buf_add_text(&id, method_names[route->method]);
	for (const char *c = route->path; *c; c++) {
		if (isalnum((unsigned char)*c))
			buf_add_byte(&id, (char)(upper ? toupper((unsigned char)*c) : *c));
		upper = !isalnum((unsigned char)*c);
	}
	json_add_span(out, "operationId", buf_span(&id));
}

static void write_operation(struct buf *out, const struct route *route)
{
	const struct body_media *media = media_of(route);

	json_begin_object(out, method_names[route->method]);
	write_operation_id(out, route);
	json_add_text(out, "summary", route->summary);
	json_add_texts(out, "tags", (const char *const[]){route->tag, NULL});
	write_scopes(out, route);
	write_parameters(out, route);
	write_request(out, route, media);
	write_responses(out, route, route->flags & ROUTE_PROGRESS ? PROGRESS_TYPES : media->answer);
	json_end_object(out);
}

static void format_path(struct buf *out, const char *path)
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
	bool is_first;             /* the row is its path's first */
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

	if (strcmp(route->path, w->first->path) == 0)
		write_operation(w->out, route);
}

static void write_path_item(void *context, const struct route *route)
{
	AUTO(buf_done) struct buf path = BUF(NAME_SIZE);
	struct path_walk *w = context;

	w->first = route;
	w->operations = 0;
	each_route(check_first, w);
	if (!w->is_first)
		return;
	format_path(&path, route->path);
	json_begin_object(w->out, buf_text(&path));
	each_route(write_same_path, w);
	json_end_object(w->out);
}

static void write_info(struct buf *out)
{
	json_begin_object(out, "info");
	json_add_text(out, "title", "Atoll");
	json_add_text(out, "version", ATOLL_VERSION);
	json_add_text(out, "description", "Isolated computers for AI agents.");
	json_add_map(out, "license", TEXTS({"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}));
	json_end_object(out);
	json_begin_list(out, "security");
	for (unsigned i = 0; i < 3; i++) {
		static const char *const schemes[] = {"bearer", "header", "cookie"};

		json_begin_object(out, NULL);
		json_add_texts(out, schemes[i], NULL);
		json_end_object(out);
	}
	json_end_list(out);
}

void api_write_openapi(struct buf *out)
{
	struct path_walk walk = {.out = out};

	json_begin_object(out, NULL);
	json_add_text(out, "openapi", "3.1.0");
	write_info(out);
	json_begin_object(out, "paths");
	each_route(write_path_item, &walk);
	json_end_object(out);
	json_begin_object(out, "components");
	json_begin_object(out, "securitySchemes");
	json_add_map(out, "bearer", TEXTS({"type", "http"}, {"scheme", "bearer"}));
	json_add_map(out, "header",
	             TEXTS({"type", "apiKey"}, {"in", "header"}, {"name", "X-API-Key"}));
	json_add_map(out, "cookie",
	             TEXTS({"type", "apiKey"}, {"in", "cookie"}, {"name", "atoll_session"},
	                   {"description",
	                    "__Host-atoll_session over TLS; a write also needs the header "
	                    "X-Atoll-CSRF and an origin that is the server's own"}));
	json_end_object(out);
	write_schemas(out);
	json_end_object(out);
	json_end_object(out);
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
