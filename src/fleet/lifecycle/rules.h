/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/lifecycle/rules.h — the routing rules that hold on this server: those of the store when
 * they are set there, else those of the configuration. Any thread may call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/routing.h"
#include "json/json.h"
#include "sandbox/sandbox.h"

struct arena;
struct error;
struct routing_rules;

struct routing_rules *routing_rules_new(const char *configured);
void routing_rules_free(struct routing_rules *r);
/* The rules of the store at this version; NULL: those of the configuration hold. */
void routing_rules_set(struct routing_rules *r, const char *stored, int64_t version);
int64_t routing_rules_version(struct routing_rules *r); /* -1 before the first routing_rules_set */
/* A copy of the rules as text; *ret_is_stored: they are the store's. */
const char *routing_rules_text(struct routing_rules *r, struct arena *a, bool *ret_is_stored);

/* The rules of one version, parsed once. */
struct rule_list;
const struct config_rules *rule_list_rules(const struct rule_list *list);
/* Stays as it is until its release, also while the rules change. */
MUST_CHECK int routing_rules_hold(struct routing_rules *r, struct rule_list **ret,
                                  struct error *err);
void rule_list_release(struct rule_list *list); /* NULL is fine */

/* What the conditions of a rule look at. */
struct rule_subject {
	const char *project_id, *template_id, *template_name;
	const char *isolation; /* that is asked for; NULL = none */
	const struct json_map *labels;
	struct sandbox_resources resources;
	int64_t price_hour; /* micro-dollars */
};
/* The first rule that matches; NULL: none. */
const struct config_rule *routing_rule_find(const struct config_rules *rules,
                                            const struct rule_subject *subject);
