/* SPDX-License-Identifier: Apache-2.0 */
#include "config/routing.h"

#include <stddef.h>
#include <string.h>

#include "config/check.h"
#include "config/config.h"
#include "config/providers.h"
#include "config/setting.h"
#include "sandbox/isolation.h"
#include "sandbox/sandbox.h"

#define MEMORY_MB_MAX (INT64_C(1) << 24)
#define CPU_MAX 1024

#define SETTING(name_, kind_, ...)                                                                 \
	{                                                                                          \
		.name = #name_, .kind = (kind_), .offset = offsetof(struct config_rule, name_),    \
		__VA_ARGS__                                                                        \
	}
static const struct item_setting conditions[] = {
        SETTING(project, SETTING_TEXT),
        SETTING(label, SETTING_TEXT),
        SETTING(template, SETTING_TEXT),
        SETTING(isolation, SETTING_TEXT),
        SETTING(memory_mb_min, SETTING_WHOLE, .min = 1, .max = MEMORY_MB_MAX),
        SETTING(memory_mb_max, SETTING_WHOLE, .min = 1, .max = MEMORY_MB_MAX),
        SETTING(cpu_min, SETTING_NUMBER, .max = CPU_MAX),
        SETTING(cpu_max, SETTING_NUMBER, .max = CPU_MAX),
        SETTING(price_min, SETTING_MONEY),
        SETTING(price_max, SETTING_MONEY),
        {.name = NULL},
};

static int add_provider(struct arena *a, struct config_rule *rule, struct span name,
                        struct error *err)
{
	const char *text = arena_copy(a, name);

	for (unsigned i = 0; i < rule->provider_count; i++)
		if (strcmp(rule->providers[i], text) == 0)
			return FAIL(err, ERROR_INVALID, "'%s' is there twice", text);
	if (rule->provider_count == CONFIG_RULE_PROVIDERS_MAX)
		return FAIL(err, ERROR_INVALID, "more than %d providers",
		            CONFIG_RULE_PROVIDERS_MAX);
	rule->providers[rule->provider_count++] = text;
	return sandbox_name_check(text, err);
}

static int set_providers(struct arena *a, struct config_rule *rule, struct span names,
                         struct error *err)
{
	struct span name;

	while (names.size > 0) {
		(void)span_split(&names, ' ', &name);
		if (name.size > 0 && add_provider(a, rule, name, err) < 0)
			return -1;
	}
	return 0;
}

static int set_condition(struct arena *a, struct config_rule *rule, struct span name,
                         struct span value, struct error *err)
{
	const struct item_setting *setting = setting_find(conditions, name);

	if (span_equals_text(name, "providers"))
		return set_providers(a, rule, value, err);
	if (!setting)
		return FAIL(err, ERROR_INVALID, "it is unknown; known: %s, providers",
		            setting_names(a, conditions));
	return setting_set(a, setting, value, rule, err);
}

static int check_order(const struct config_rule *r, struct error *err)
{
	const char *name = NULL;

	if (r->memory_mb_max > 0 && r->memory_mb_min > r->memory_mb_max)
		name = "memory_mb";
	else if (r->cpu_max > 0 && r->cpu_min > r->cpu_max)
		name = "cpu";
	else if (r->price_max > 0 && r->price_min > r->price_max)
		name = "price";
	return name ? FAIL(err, ERROR_INVALID, "rule '%s': %s_min is above %s_max", r->name, name,
	                   name)
	            : 0;
}

static int check_rule(const struct config_rule *r, struct error *err)
{
	if (r->isolation && isolation_check(r->isolation, err) < 0)
		return FAIL_CONTEXT(err, "rule '%s'", r->name);
	if (r->provider_count == 0)
		return FAIL(err, ERROR_INVALID,
		            "rule '%s': providers is missing: names in the order in which they are "
		            "tried, separated by spaces",
		            r->name);
	return check_order(r, err);
}

static int parse_rule(struct arena *a, struct span item, struct config_rule *ret, struct error *err)
{
	struct config_rule rule = {.name = NULL};
	struct span name;

	(void)span_split(&item, ':', &name);
	rule.name = arena_copy(a, name);
	if (sandbox_name_check(rule.name, err) < 0)
		return FAIL_CONTEXT(err, "name of a rule");
	while (item.size > 0) {
		struct span value, key;

		(void)span_split(&item, ';', &value);
		if (!span_split(&value, '=', &key))
			return FAIL(err, ERROR_INVALID, "rule '%s': expected KEY=VALUE", rule.name);
		if (set_condition(a, &rule, key, value, err) < 0)
			return FAIL_CONTEXT(err, "rule '%s': %.*s", rule.name,
			                    (int)(key.size > 60 ? 60 : key.size), key.data);
	}
	*ret = rule;
	return check_rule(&rule, err);
}

static int check_name(const struct config_rules *rules, const char *name, struct error *err)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (strcmp(rules->items[i].name, name) == 0)
			return FAIL(err, ERROR_INVALID, "rule '%s' is there twice", name);
	return 0;
}

int config_routing_parse(struct arena *a, const char *text, struct config_rules *ret,
                         struct error *err)
{
	struct config_rules rules = {.count = 0};
	struct span rest = span_of(text), item;

	if (rest.size > CONFIG_ROUTING_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "rules have at most %d bytes",
		            CONFIG_ROUTING_MAX);
	if (rest.size > 0)
		rules.items = ARENA_ARRAY(a, struct config_rule, CONFIG_RULES_MAX);
	while (rest.size > 0) {
		struct config_rule rule;

		(void)span_split(&rest, ',', &item);
		if (rules.count == CONFIG_RULES_MAX)
			return FAIL(err, ERROR_INVALID, "more than %d rules", CONFIG_RULES_MAX);
		if (parse_rule(a, span_trim(item), &rule, err) < 0 ||
		    check_name(&rules, rule.name, err) < 0)
			return -1;
		rules.items[rules.count++] = rule;
	}
	*ret = rules;
	return 0;
}

static int check_provider(struct arena *a, const struct config_providers *providers,
                          const struct config_rule *rule, const char *name, struct error *err)
{
	const char *known = "";

	for (unsigned i = 0; i < providers->count; i++) {
		if (strcmp(providers->items[i].name, name) == 0)
			return 0;
		known = arena_format(a, "%s%s%s", known, i > 0 ? ", " : "",
		                     providers->items[i].name);
	}
	return FAIL(err, ERROR_INVALID, "rule '%s': providers: unknown '%s'; configured: %s",
	            rule->name, name, known);
}

int config_routing_check(struct arena *a, const struct config *config, struct error *err)
{
	struct config_providers providers;
	struct config_rules rules;

	if (config_providers_load(a, config, &providers, err) < 0 ||
	    config_routing_parse(a, config->routing ? config->routing : "", &rules, err) < 0)
		return -1;
	for (unsigned i = 0; i < rules.count; i++)
		for (unsigned k = 0; k < rules.items[i].provider_count; k++)
			if (check_provider(a, &providers, &rules.items[i],
			                   rules.items[i].providers[k], err) < 0)
				return -1;
	return 0;
}

int check_routing(const char *value, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct config_rules ignored;

	return config_routing_parse(&arena, value, &ignored, err);
}
