/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/operator/routing.h"

#include <inttypes.h>
#include <string.h>

#include "edge/api.h"
#include "fleet/server/routing.h"
#include "json/json.h"
#include "sandbox/price.h"
#include "sandbox/sandbox.h"

struct routing_rule_body {
	const char *name, *project, *label, *template, *isolation;
	int64_t memory_mb_min, memory_mb_max;
	double cpu_min, cpu_max, price_min, price_max;
	const char **providers;
};
static const struct json_member routing_rule_shape_members[] = {
        JSON_TEXT_MEMBER(routing_rule_body, name, .flags = JSON_REQUIRED, .min = 1,
                         .max = SANDBOX_NAME_MAX),
        JSON_TEXT_MEMBER(routing_rule_body, project, .flags = JSON_OMIT_EMPTY, .max = 64,
                         .about = "id of the project"),
        JSON_TEXT_MEMBER(routing_rule_body, label, .flags = JSON_OMIT_EMPTY, .max = 256,
                         .about = "KEY or KEY=VALUE"),
        JSON_TEXT_MEMBER(routing_rule_body, template, .flags = JSON_OMIT_EMPTY, .max = 128,
                         .about = "its name or its id"),
        JSON_TEXT_MEMBER(routing_rule_body, isolation, .flags = JSON_OMIT_EMPTY, .max = 16,
                         .about = "that is asked for, exactly"),
        JSON_WHOLE_MEMBER(routing_rule_body, memory_mb_min, .flags = JSON_OMIT_EMPTY,
                          .max = 1 << 24),
        JSON_WHOLE_MEMBER(routing_rule_body, memory_mb_max, .flags = JSON_OMIT_EMPTY,
                          .max = 1 << 24),
        JSON_NUMBER_MEMBER(routing_rule_body, cpu_min, .flags = JSON_OMIT_EMPTY, .max = 1024),
        JSON_NUMBER_MEMBER(routing_rule_body, cpu_max, .flags = JSON_OMIT_EMPTY, .max = 1024),
        JSON_NUMBER_MEMBER(routing_rule_body, price_min, .flags = JSON_OMIT_EMPTY, .max = 1000000,
                           .about = "US dollars of an active hour by the server's prices"),
        JSON_NUMBER_MEMBER(routing_rule_body, price_max, .flags = JSON_OMIT_EMPTY, .max = 1000000),
        JSON_TEXT_LIST_MEMBER(routing_rule_body, providers, .flags = JSON_REQUIRED, .min = 1,
                              .max = CONFIG_RULE_PROVIDERS_MAX,
                              .about = "in the order in which they are tried"),
};
static JSON_SHAPE(routing_rule_shape, "RoutingRule", routing_rule_body,
                  "Which providers make the sandboxes that meet every condition; bounds are "
                  "inclusive");

struct routing_body {
	const char *source;
	struct json_list rules;
};
static const struct json_member routing_request_shape_members[] = {
        JSON_LIST_MEMBER(routing_body, rules, &routing_rule_shape, .flags = JSON_REQUIRED,
                         .max = CONFIG_RULES_MAX),
};
JSON_SHAPE(routing_request_shape, "RoutingPut", routing_body,
           "Rules for every server on this store; the first match decides");
static const struct json_member routing_shape_members[] = {
        JSON_TEXT_MEMBER(routing_body, source,
                         .about = "configuration, or stored: they were set by this API"),
        JSON_LIST_MEMBER(routing_body, rules, &routing_rule_shape),
};
JSON_SHAPE(routing_shape, "Routing", routing_body,
           "The rules that choose providers; the first match decides");

static struct routing_rule_body rule_answer(struct arena *a, const struct config_rule *r)
{
	const char **names = ARENA_ARRAY(a, const char *, r->provider_count + 1);

	for (unsigned i = 0; i < r->provider_count; i++)
		names[i] = r->providers[i];
	return (struct routing_rule_body){
	        .name = r->name,
	        .project = r->project,
	        .label = r->label,
	        .template = r->template,
	        .isolation = r->isolation,
	        .memory_mb_min = r->memory_mb_min,
	        .memory_mb_max = r->memory_mb_max,
	        .cpu_min = r->cpu_min,
	        .cpu_max = r->cpu_max,
	        .price_min = money_to_usd(r->price_min),
	        .price_max = money_to_usd(r->price_max),
	        .providers = names,
	};
}

int routing_get(struct request *rq, UNUSED const void *body, struct reply *reply, struct error *err)
{
	struct fleet_routing routing;
	struct routing_rule_body *items;
	struct routing_body answer;

	if (fleet_routing_get(api_of(rq)->fleet, rq->arena, &routing, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct routing_rule_body, routing.rules.count + 1);
	for (unsigned i = 0; i < routing.rules.count; i++)
		items[i] = rule_answer(rq->arena, &routing.rules.items[i]);
	answer = (struct routing_body){routing.is_stored ? "stored" : "configuration",
	                               {items, routing.rules.count, true}};
	reply_json(reply, &routing_shape, &answer);
	return 0;
}

static int add_text(struct buf *out, const char *key, const char *value, struct error *err)
{
	if (!value || !*value)
		return 0;
	if (strpbrk(value, ",;"))
		return FAIL(err, ERROR_INVALID, "%s: a value has no , or ;", key);
	buf_addf(out, "%s=%s;", key, value);
	return 0;
}

static void add_whole(struct buf *out, const char *key, int64_t value)
{
	if (value > 0)
		buf_addf(out, "%s=%" PRId64 ";", key, value);
}

static void add_number(struct buf *out, const char *key, double value)
{
	if (value > 0)
		buf_addf(out, "%s=%.6f;", key, value);
}

static int add_providers(struct buf *out, const char *const *names, struct error *err)
{
	buf_add_text(out, "providers=");
	for (size_t i = 0; names && names[i]; i++) {
		if (sandbox_name_check(names[i], err) < 0)
			return FAIL_CONTEXT(err, "providers[%zu]", i);
		buf_addf(out, "%s%s", i > 0 ? " " : "", names[i]);
	}
	return 0;
}

/* As the option `routing` has it. */
static int write_rule(struct buf *out, const struct routing_rule_body *r, struct error *err)
{
	if (sandbox_name_check(r->name, err) < 0)
		return FAIL_CONTEXT(err, "name");
	buf_addf(out, "%s%s:", out->size > 0 ? "," : "", r->name);
	if (add_text(out, "project", r->project, err) < 0 ||
	    add_text(out, "label", r->label, err) < 0 ||
	    add_text(out, "template", r->template, err) < 0 ||
	    add_text(out, "isolation", r->isolation, err) < 0)
		return -1;
	add_whole(out, "memory_mb_min", r->memory_mb_min);
	add_whole(out, "memory_mb_max", r->memory_mb_max);
	add_number(out, "cpu_min", r->cpu_min);
	add_number(out, "cpu_max", r->cpu_max);
	add_number(out, "price_min", r->price_min);
	add_number(out, "price_max", r->price_max);
	return add_providers(out, r->providers, err);
}

int routing_put(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(CONFIG_ROUTING_MAX);
	const struct routing_body *b = body;
	const struct routing_rule_body *rules = b->rules.items;

	for (size_t i = 0; i < b->rules.count; i++)
		if (write_rule(&text, &rules[i], err) < 0)
			return FAIL_CONTEXT(err, "rules[%zu]", i);
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "rules have at most %d bytes",
		            CONFIG_ROUTING_MAX);
	if (fleet_routing_set(api_of(rq)->fleet, buf_text(&text), err) < 0)
		return -1;
	return routing_get(rq, NULL, reply, err);
}

int routing_delete(struct request *rq, UNUSED const void *body, struct reply *reply,
                   struct error *err)
{
	if (fleet_routing_set(api_of(rq)->fleet, NULL, err) < 0)
		return -1;
	return routing_get(rq, NULL, reply, err);
}
