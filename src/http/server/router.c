/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server/router.h"

#include <stdio.h>
#include <stdlib.h>

#include "json/json.h"

static const char *const method_names[HTTP_ANY] = {
        [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_POST] = "POST",
        [HTTP_PUT] = "PUT",         [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
        [HTTP_OPTIONS] = "OPTIONS",
};

const char *http_method_name(enum http_method method)
{
	return method == HTTP_ANY ? "ANY" : method_names[method];
}

enum http_method router_method_of(const char *name)
{
	for (int i = 0; i < HTTP_ANY; i++)
		if (strcmp(method_names[i], name) == 0)
			return (enum http_method)i;
	return HTTP_ANY;
}

#define METHODS (HTTP_ANY + 1)

struct node {
	struct span literal;    /* the part that leads here */
	struct node *next;      /* the next literal of the same parent */
	struct node *literals;  /* children */
	struct node *parameter; /* ":name" */
	const struct route *rest[METHODS];
	const struct route *routes[METHODS];
	bool has_rest;
};

struct router {
	struct arena arena;
	struct node root;
};

static NORETURN void refuse_route(const struct route *route, const char *why)
{
	fprintf(stderr, "route '%s': %s\n", route->path, why);
	abort();
}

static struct node *literal_child(const struct node *node, struct span part)
{
	for (struct node *child = node->literals; child; child = child->next)
		if (span_equals(child->literal, part))
			return child;
	return NULL;
}

static struct node *add_child(struct router *router, struct node *node, struct span part)
{
	struct node *child;

	if (part.size && part.data[0] == ':') {
		if (!node->parameter)
			node->parameter = ARENA_NEW(&router->arena, struct node);
		return node->parameter;
	}
	child = literal_child(node, part);
	if (child)
		return child;
	child = ARENA_NEW(&router->arena, struct node);
	child->literal = part;
	child->next = node->literals;
	node->literals = child;
	return child;
}

static void set_route(const struct route **slots, const struct route *route)
{
	if (slots[route->method])
		refuse_route(route, "the same method and path are in the tables twice");
	slots[route->method] = route;
}

/* Each member has one row: json_parse accepts its other spelling (memory_mb, memoryMb). */
static void check_spellings(const struct route *route)
{
	const struct json_shape *shapes[] = {route->query, route->body, route->answer};

	for (size_t i = 0; i < COUNT_OF(shapes); i++)
		if (shapes[i] && json_shape_duplicate(shapes[i]))
			refuse_route(route, "a member of its shapes has two rows");
}

static void add_route(struct router *router, const struct route *route)
{
	struct node *node = &router->root;
	struct span rest = span_of(route->path), part;
	bool more = true;
	unsigned depth = 0;

	if (route->path[0] != '/' || route->method >= METHODS || !route->handle)
		refuse_route(route, "needs a path that starts with '/', a method and a handler");
	check_spellings(route);
	span_skip(&rest, 1);
	if (!rest.size) {
		set_route(node->routes, route);
		return;
	}
	while (more) {
		more = span_split(&rest, '/', &part);
		if (++depth >= TARGET_PARTS_MAX || (part.size == 1 && strchr(":*", part.data[0])))
			refuse_route(route, "too many parts, or a parameter without a name");
		if (part.size && part.data[0] == '*') {
			if (more)
				refuse_route(route, "a rest must be the last part");
			node->has_rest = true;
			set_route(node->rest, route);
			return;
		}
		node = add_child(router, node, part);
	}
	set_route(node->routes, route);
}

struct router *router_new(const struct route *const *tables)
{
	struct router *router = memory_new(sizeof(*router));

	for (; *tables; tables++)
		for (const struct route *route = *tables; route->path; route++)
			add_route(router, route);
	return router;
}

void router_free(struct router *router)
{
	if (!router)
		return;
	arena_done(&router->arena);
	free(router);
}

struct route_search {
	enum http_method method;
	const struct request_target *target;
	unsigned methods; /* of all matching routes */
};

/* GET's route also answers HEAD; HTTP_ANY matches when no other method does. */
static const struct route *pick_route(struct route_search *s, const struct route *const *slots)
{
	for (unsigned i = 0; i < METHODS; i++)
		if (slots[i])
			s->methods |= 1U << i;
	if (slots[s->method])
		return slots[s->method];
	if (s->method == HTTP_HEAD && slots[HTTP_GET])
		return slots[HTTP_GET];
	return slots[HTTP_ANY];
}

static const struct route *find_below(struct route_search *s, const struct node *node,
                                      unsigned depth)
{
	const struct route *found = NULL;
	const struct node *child;
	struct span part;

	if (depth == s->target->part_count)
		return pick_route(s, node->routes);
	/* The last recorded part of a path deeper than any route includes the rest. */
	part = (struct span){s->target->path + s->target->parts[depth].start,
	                     s->target->parts[depth].end - s->target->parts[depth].start};
	child = literal_child(node, part);
	if (child)
		found = find_below(s, child, depth + 1);
	if (!found && node->parameter && part.size)
		found = find_below(s, node->parameter, depth + 1);
	if (!found && node->has_rest)
		found = pick_route(s, node->rest);
	return found;
}

struct router_match router_find(const struct router *router, enum http_method method,
                                const struct request_target *target)
{
	struct route_search s = {.method = method, .target = target};
	struct router_match match = {.route = find_below(&s, &router->root, 0)};

	match.methods = s.methods;
	return match;
}

const char *router_param(const struct route *route, const struct request_target *target,
                         const char *name, struct arena *a)
{
	struct span rest = {route->path + 1, strlen(route->path + 1)}, part;
	bool more = true;

	for (unsigned depth = 0; more && depth < target->part_count; depth++) {
		size_t start = target->parts[depth].start;

		more = span_split(&rest, '/', &part);
		if (!part.size || !strchr(":*", part.data[0]) ||
		    !span_equals_text((struct span){part.data + 1, part.size - 1}, name))
			continue;
		if (part.data[0] == '*')
			return target->path + start;
		return arena_copy(
		        a, (struct span){target->path + start, target->parts[depth].end - start});
	}
	return NULL;
}

void router_write_methods(struct buf *out, unsigned methods)
{
	const char *separator = "";

	if (methods & 1U << HTTP_GET)
		methods |= 1U << HTTP_HEAD;
	methods |= 1U << HTTP_OPTIONS;
	for (unsigned i = 0; i < HTTP_ANY; i++) {
		if (!(methods & 1U << i))
			continue;
		buf_add_text(out, separator);
		buf_add_text(out, method_names[i]);
		separator = ", ";
	}
}
