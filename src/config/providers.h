/* SPDX-License-Identifier: Apache-2.0 */
/* config/providers.h — the option `providers`: the providers of one server, the primary first. The
 * store keeps the settings of a provider that was added at run time in the same form. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct config;

#define CONFIG_PROVIDERS_MAX 16
#define CONFIG_PROVIDER_VALUES_MAX 16

struct config_provider_value {
	const char *name, *value; /* of config/provider_options.h */
};
struct config_provider {
	const char *name, *kind;
	int64_t sandboxes_max; /* 0 = no limit */
	bool allows_weaker;    /* any project may name it, though it isolates less than the first */
	/* In micro-dollars. The price is what an active hour of a sandbox costs the operator; the
	 * limits are of all its sandboxes in a day and a month of UTC; 0 = no limit. */
	int64_t price_hour, cost_day_max, cost_month_max;
	int64_t create_timeout_ms; /* of a create while another provider is left; 0 = the default */
	int64_t p99_max_ms; /* of its creates; above it the provider is tried last; 0 = none */
	struct config_provider_value values[CONFIG_PROVIDER_VALUES_MAX]; /* options of the kind */
	unsigned value_count;
};
struct config_providers {
	struct config_provider items[CONFIG_PROVIDERS_MAX];
	unsigned count;
};

/* The option's items: "NAME=KIND:KEY=VALUE;KEY=VALUE", separated by commas. Without "=KIND" the
 * name is the kind. The empty text has no items. */
MUST_CHECK int config_providers_parse(struct arena *a, const char *text,
                                      struct config_providers *ret, struct error *err);
/* The settings "KEY=VALUE;KEY=VALUE" of a provider whose name and kind are set. */
MUST_CHECK int config_provider_parse_settings(struct arena *a, const char *text,
                                              struct config_provider *p, struct error *err);
/* One setting, or one option of its kind. */
MUST_CHECK int config_provider_set(struct arena *a, struct config_provider *p,
                                   const struct config_provider_value *value, struct error *err);
/* Call it when all are set: whether they fit together and none is missing. */
MUST_CHECK int config_provider_check(const struct config_provider *p, struct error *err);
/* NULL: the provider has no such option. */
const char *config_provider_value(const struct config_provider *p, const char *name);
/* The providers of the server: the option `providers`, or the one that `provider` names. */
MUST_CHECK int config_providers_load(struct arena *a, const struct config *config,
                                     struct config_providers *ret, struct error *err);
/* How many providers of the server have this kind. */
unsigned config_count_provider_kind(const struct config *config, const char *kind);
bool config_has_provider_kind(const struct config *config, const char *kind);
/* ERROR_INVALID, which lists the known kinds. */
MUST_CHECK int config_provider_check_kind(struct arena *a, const struct config_provider *p,
                                          struct error *err);
