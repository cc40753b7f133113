/* SPDX-License-Identifier: Apache-2.0 */
/* config/routing.h — the option `routing`: rules that say which providers make a sandbox. The store
 * keeps rules that were set at run time in the same form. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

struct config;

#define CONFIG_RULES_MAX 64
#define CONFIG_RULE_PROVIDERS_MAX 16
#define CONFIG_ROUTING_MAX 16384 /* bytes of all rules */

/* A condition that is not set (NULL, 0) is met by every request. Bounds are inclusive. */
struct config_rule {
	const char *name;
	const char *project;   /* its id */
	const char *label;     /* "KEY" or "KEY=VALUE" */
	const char *template;  /* its name or id */
	const char *isolation; /* that the request asks for, exactly */
	int64_t memory_mb_min, memory_mb_max;
	double cpu_min, cpu_max;
	int64_t price_min, price_max; /* micro-dollars of an active hour, by the server's prices */
	const char *providers[CONFIG_RULE_PROVIDERS_MAX]; /* in the order in which they are tried */
	unsigned provider_count;
};
struct config_rules {
	struct config_rule *items; /* the first one that matches decides */
	unsigned count;
};

/* Rules "NAME:KEY=VALUE;…;providers=A B", separated by commas. The empty text has no rules. The
 * error names the rule and the key. */
MUST_CHECK int config_routing_parse(struct arena *a, const char *text, struct config_rules *ret,
                                    struct error *err);
/* Whether every rule of the option names only providers of the configuration. */
MUST_CHECK int config_routing_check(struct arena *a, const struct config *config,
                                    struct error *err);
