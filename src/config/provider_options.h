/* SPDX-License-Identifier: Apache-2.0 */
/* config/provider_options.h — the options that one kind of provider has, beside the settings of
 * every provider (config/providers.h): credentials, addresses. A new kind of provider adds rows. */
#pragma once

#include <stdbool.h>

struct config_provider_option {
	const char *kind; /* of the provider; NULL ends the table */
	const char *name;
	/* A credential: the configuration file names it by a reference, "env:NAME" or "file:/PATH";
	 * the store keeps it sealed, and no answer shows it. */
	bool is_secret;
	bool is_required;
	bool is_fixed; /* the isolation of its sandboxes follows it: it cannot change */
	const char *const *choices; /* its values, up to NULL; NULL: any */
	const char *about;
};
extern const struct config_provider_option config_provider_options[];
/* NULL: a provider of this kind has no such option. */
const struct config_provider_option *config_provider_option_find(const char *kind,
                                                                 const char *name);
