/* SPDX-License-Identifier: Apache-2.0 */
#include "config/providers.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "config/check.h"
#include "config/config.h"
#include "config/option.h"
#include "config/provider_options.h"
#include "config/setting.h"
#include "sandbox/sandbox.h"

#define SANDBOXES_MAX 1000000

/* The kinds are the choices of the option `provider`. */
static const char *const *find_kinds(void)
{
	const struct config_option *o = config_options;

	while (strcmp(o->name, "provider") != 0)
		o++;
	return o->choices;
}

int config_provider_check_kind(struct arena *a, const struct config_provider *p, struct error *err)
{
	const char *const *kinds = find_kinds();
	const char *known = "";

	for (; *kinds; kinds++) {
		if (strcmp(*kinds, p->kind) == 0)
			return 0;
		known = arena_format(a, "%s%s%s", known, *known ? ", " : "", *kinds);
	}
	return FAIL(err, ERROR_INVALID, "provider '%s': unknown kind '%.60s'; known kinds: %s",
	            p->name, p->kind, known);
}

#define DAY_MS (INT64_C(24) * 3600 * 1000)
#define SETTING(name_, kind_, member_, ...)                                                        \
	{                                                                                          \
		.name = (name_), .kind = (kind_),                                                  \
		.offset = offsetof(struct config_provider, member_), __VA_ARGS__                   \
	}
static const struct item_setting settings[] = {
        SETTING("allow_weaker", SETTING_BOOL, allows_weaker),
        SETTING("create_timeout", SETTING_DURATION, create_timeout_ms, .min = 100, .max = 60000),
        SETTING("max_cost_day", SETTING_MONEY, cost_day_max),
        SETTING("max_cost_month", SETTING_MONEY, cost_month_max),
        SETTING("max_p99", SETTING_DURATION, p99_max_ms, .min = 1, .max = DAY_MS),
        SETTING("max_sandboxes", SETTING_WHOLE, sandboxes_max, .max = SANDBOXES_MAX),
        SETTING("price_hour", SETTING_MONEY, price_hour),
        {.name = NULL},
};

static int fail_setting(struct arena *a, const struct config_provider *p, struct span name,
                        struct error *err)
{
	const char *known = setting_names(a, settings);

	for (const struct config_provider_option *o = config_provider_options; o->kind; o++)
		if (strcmp(o->kind, p->kind) == 0)
			known = arena_format(a, "%s, %s", known, o->name);
	return FAIL(err, ERROR_INVALID, "provider '%s': unknown setting '%.*s'; known settings: %s",
	            p->name, (int)(name.size > 60 ? 60 : name.size), name.data, known);
}

static int check_choice(struct arena *a, const struct config_provider_option *option,
                        struct span value, struct error *err)
{
	const char *known = NULL;

	for (size_t i = 0; option->choices && option->choices[i]; i++) {
		if (span_equals_text(value, option->choices[i]))
			return 0;
		known = arena_format(a, "%s%s%s", known ? known : "", known ? ", " : "",
		                     option->choices[i]);
	}
	return known ? FAIL(err, ERROR_INVALID, "'%.*s' is not supported; supported: %s",
	                    (int)(value.size > 60 ? 60 : value.size), value.data, known)
	             : 0;
}

static int add_value(struct arena *a, struct config_provider *p,
                     const struct config_provider_option *option, struct span value,
                     struct error *err)
{
	if (value.size == 0)
		return FAIL(err, ERROR_INVALID, "it is empty");
	if (config_provider_value(p, option->name))
		return FAIL(err, ERROR_INVALID, "it is given twice");
	if (check_choice(a, option, value, err) < 0 ||
	    config_provider_option_check(option, arena_copy(a, value), err) < 0)
		return -1;
	assert(p->value_count < CONFIG_PROVIDER_VALUES_MAX);
	p->values[p->value_count++] =
	        (struct config_provider_value){option->name, arena_copy(a, value)};
	return 0;
}

static int set_value(struct arena *a, struct config_provider *p, struct span name,
                     struct span value, struct error *err)
{
	const struct item_setting *setting = setting_find(settings, name);
	const struct config_provider_option *option =
	        setting ? NULL : config_provider_option_find(p->kind, arena_copy(a, name));
	int result;

	if (!setting && !option)
		return fail_setting(a, p, name, err);
	result = setting ? setting_set(a, setting, value, p, err)
	                 : add_value(a, p, option, value, err);
	if (result < 0)
		return FAIL_CONTEXT(err, "provider '%s': %.*s", p->name, (int)name.size, name.data);
	return 0;
}

const char *config_provider_value(const struct config_provider *p, const char *name)
{
	for (unsigned i = 0; i < p->value_count; i++)
		if (strcmp(p->values[i].name, name) == 0)
			return p->values[i].value;
	return NULL;
}

/* A limit of cost without a price would never be reached. */
int config_provider_check(const struct config_provider *p, struct error *err)
{
	if ((p->cost_day_max > 0 || p->cost_month_max > 0) && p->price_hour == 0)
		return FAIL(err, ERROR_INVALID,
		            "provider '%s': max_cost_day and max_cost_month need price_hour, the "
		            "US dollars of a sandbox's active hour",
		            p->name);
	for (const struct config_provider_option *o = config_provider_options; o->kind; o++)
		if (o->is_required && strcmp(o->kind, p->kind) == 0 &&
		    !config_provider_value(p, o->name))
			return FAIL(err, ERROR_INVALID, "provider '%s': %s is missing: %s", p->name,
			            o->name, o->about);
	return 0;
}

static int parse_values(struct arena *a, struct span text, struct config_provider *p,
                        struct error *err)
{
	struct span item;

	while (text.size > 0) {
		struct span name;

		(void)span_split(&text, ';', &item);
		if (!span_split(&item, '=', &name))
			return FAIL(err, ERROR_INVALID, "provider '%s': expected KEY=VALUE",
			            p->name);
		if (set_value(a, p, name, item, err) < 0)
			return -1;
	}
	return 0;
}

int config_provider_set(struct arena *a, struct config_provider *p,
                        const struct config_provider_value *value, struct error *err)
{
	return set_value(a, p, span_of(value->name), span_of(value->value), err);
}

int config_provider_parse_settings(struct arena *a, const char *text, struct config_provider *p,
                                   struct error *err)
{
	return parse_values(a, span_of(text), p, err);
}

/* The configuration is printed and passed on: it holds no credential. */
static int check_references(const struct config_provider *p, struct error *err)
{
	for (unsigned i = 0; i < p->value_count; i++) {
		const struct config_provider_value *v = &p->values[i];

		if (config_provider_option_find(p->kind, v->name)->is_secret &&
		    strncmp(v->value, "env:", 4) != 0 && strncmp(v->value, "file:/", 6) != 0)
			return FAIL(err, ERROR_INVALID,
			            "provider '%s': %s is a secret: give a reference to it, "
			            "file:/PATH or env:NAME",
			            p->name, v->name);
	}
	return 0;
}

static int parse_item(struct arena *a, struct span item, struct config_provider *ret,
                      struct error *err)
{
	struct span kind, name;

	(void)span_split(&item, ':', &kind);
	if (!span_split(&kind, '=', &name))
		kind = name;
	*ret = (struct config_provider){.name = arena_copy(a, name), .kind = arena_copy(a, kind)};
	if (sandbox_name_check(ret->name, err) < 0)
		return FAIL_CONTEXT(err, "name of a provider");
	if (config_provider_check_kind(a, ret, err) < 0 || parse_values(a, item, ret, err) < 0 ||
	    config_provider_check(ret, err) < 0)
		return -1;
	return check_references(ret, err);
}

static int append_item(struct config_providers *all, const struct config_provider *p,
                       struct error *err)
{
	for (unsigned i = 0; i < all->count; i++)
		if (strcmp(all->items[i].name, p->name) == 0)
			return FAIL(err, ERROR_INVALID, "provider '%s' is there twice", p->name);
	if (all->count == CONFIG_PROVIDERS_MAX)
		return FAIL(err, ERROR_INVALID, "more than %d providers", CONFIG_PROVIDERS_MAX);
	all->items[all->count++] = *p;
	return 0;
}

int config_providers_parse(struct arena *a, const char *text, struct config_providers *ret,
                           struct error *err)
{
	struct config_providers all = {.count = 0};
	struct span rest = span_of(text), item;

	while (rest.size > 0) {
		struct config_provider p;

		(void)span_split(&rest, ',', &item);
		if (parse_item(a, span_trim(item), &p, err) < 0 || append_item(&all, &p, err) < 0)
			return -1;
	}
	*ret = all;
	return 0;
}

int config_providers_load(struct arena *a, const struct config *config,
                          struct config_providers *ret, struct error *err)
{
	if (config->providers && config->providers[0])
		return config_providers_parse(a, config->providers, ret, err);
	*ret = (struct config_providers){
	        .items = {{.name = config->provider, .kind = config->provider}}, .count = 1};
	return 0;
}

unsigned config_count_provider_kind(const struct config *config, const char *kind)
{
	AUTO(arena_done) struct arena arena = {0};
	struct config_providers all;
	unsigned count = 0;

	if (config_providers_load(&arena, config, &all, &(struct error){0}) < 0)
		return 0;
	for (unsigned i = 0; i < all.count; i++)
		count += strcmp(all.items[i].kind, kind) == 0;
	return count;
}

bool config_has_provider_kind(const struct config *config, const char *kind)
{
	return config_count_provider_kind(config, kind) > 0;
}

int check_providers(const char *value, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct config_providers ignored;

	return config_providers_parse(&arena, value, &ignored, err);
}
