/* SPDX-License-Identifier: Apache-2.0 */
/* config/provider_options.h — the options that one kind of provider has, beside the settings of
 * every provider (config/providers.h): credentials, addresses. A new kind of provider adds rows. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

enum config_form {
	CONFIG_FORM_ANY,
	CONFIG_FORM_WORD,   /* letters, digits, '.', '_', ':' and '-' */
	CONFIG_FORM_FOLDER, /* an absolute path */
	CONFIG_FORM_SOCKET, /* unix:///PATH */
	CONFIG_FORM_URL,    /* of http or https */
};

struct config_provider_option {
	const char *kind; /* of the provider; NULL ends the table */
	const char *name;
	/* A credential: the configuration file names it by a reference, "env:NAME" or "file:/PATH";
	 * the store keeps it sealed, and no answer shows it. */
	bool is_secret;
	bool is_required;
	bool is_fixed; /* its sandboxes, or their isolation, follow it: it cannot change */
	const char *const *choices; /* its values, up to NULL; NULL: any */
	enum config_form form;
	const char *about;
};
extern const struct config_provider_option config_provider_options[];
/* NULL: a provider of this kind has no such option. */
const struct config_provider_option *config_provider_option_find(const char *kind,
                                                                 const char *name);
/* Whether the text has the form of the option's values. */
MUST_CHECK int config_provider_option_check(const struct config_provider_option *option,
                                            const char *text, struct error *err);
