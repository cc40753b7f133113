/* SPDX-License-Identifier: Apache-2.0 */
#include "config/providers.h"

#include <stddef.h>
#include <string.h>

#include "config/check.h"
#include "config/config.h"
#include "config/option.h"
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

static int check_kind(struct arena *a, const struct config_provider *p, struct error *err)
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

/* Settings that are texts, and the kind that has them. */
static const struct {
	const char *name, *kind;
	size_t offset;
} texts[] = {
        {"docker_host", "docker", offsetof(struct config_provider, docker_host)},
        {"docker_image", "docker", offsetof(struct config_provider, docker_image)},
        {"docker_runtime", "docker", offsetof(struct config_provider, docker_runtime)},
};

static int set_text(struct arena *a, struct config_provider *p, struct span name, struct span value,
                    struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		if (!span_is_word(name, texts[i].name))
			continue;
		if (strcmp(p->kind, texts[i].kind) != 0)
			return FAIL(err, ERROR_INVALID, "provider '%s': %s is a setting of kind %s",
			            p->name, texts[i].name, texts[i].kind);
		*(const char **)((char *)p + texts[i].offset) = arena_copy(a, value);
		return 0;
	}
	return FAIL(err, ERROR_INVALID,
	            "provider '%s': unknown setting '%.*s'; known settings: allow_weaker, "
	            "docker_host, docker_image, docker_runtime, max_sandboxes",
	            p->name, (int)name.size, name.data);
}

static int set_value(struct arena *a, struct config_provider *p, struct span name,
                     struct span value, struct error *err)
{
	if (span_is_word(name, "allow_weaker")) {
		p->allows_weaker = span_is_word(value, "true");
		return p->allows_weaker || span_is_word(value, "false")
		               ? 0
		               : FAIL(err, ERROR_INVALID,
		                      "provider '%s': allow_weaker is true or false", p->name);
	}
	if (!span_is_word(name, "max_sandboxes"))
		return set_text(a, p, name, value, err);
	if (span_parse_whole(value, 0, SANDBOXES_MAX, &p->sandboxes_max, err) < 0)
		return FAIL_CONTEXT(err, "provider '%s': max_sandboxes", p->name);
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
	return check_kind(a, ret, err) < 0 ? -1 : parse_values(a, item, ret, err);
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
