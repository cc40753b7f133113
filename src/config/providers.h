/* SPDX-License-Identifier: Apache-2.0 */
/* config/providers.h — the option `providers`: the providers of one server, the primary first. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct config;

#define CONFIG_PROVIDERS_MAX 16

struct config_provider {
	const char *name, *kind;
	int64_t sandboxes_max; /* 0 = no limit */
	bool allows_weaker;    /* any project may name it, though it isolates less than the first */
	/* Of the kind docker; NULL = the option of this name. */
	const char *docker_host, *docker_image, *docker_runtime;
};
struct config_providers {
	struct config_provider items[CONFIG_PROVIDERS_MAX];
	unsigned count;
};

/* The option's items: "NAME=KIND:KEY=VALUE;KEY=VALUE", separated by commas. Without "=KIND" the
 * name is the kind. The empty text has no items. */
MUST_CHECK int config_providers_parse(struct arena *a, const char *text,
                                      struct config_providers *ret, struct error *err);
/* The providers of the server: the option `providers`, or the one that `provider` names. */
MUST_CHECK int config_providers_load(struct arena *a, const struct config *config,
                                     struct config_providers *ret, struct error *err);
/* How many providers of the server have this kind. */
unsigned config_count_provider_kind(const struct config *config, const char *kind);
bool config_has_provider_kind(const struct config *config, const char *kind);
