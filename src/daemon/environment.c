/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/environment.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "config/provider_options.h"
#include "config/providers.h"

/* No other variables: the environment may hold secrets, and a file passes the configuration. */
static const char *const kept_variables[] = {"PATH",
                                             "LANG",
                                             "LC_ALL",
                                             "TZ",
                                             "SSL_CERT_FILE",
                                             "ATOLL_FAULT",
                                             "ATOLL_FAULT_CLOCK",
                                             "ASAN_OPTIONS",
                                             "TSAN_OPTIONS",
                                             "UBSAN_OPTIONS",
                                             "LSAN_OPTIONS",
                                             "JOURNAL_STREAM",
                                             LOG_FORMAT_VARIABLE,
                                             "INVOCATION_ID",
                                             "KUBERNETES_SERVICE_HOST",
                                             "KUBERNETES_SERVICE_PORT"};

const char **child_environment(struct arena *a)
{
	const char **env = ARENA_ARRAY(a, const char *, COUNT_OF(kept_variables) + 1);
	size_t count = 0;

	for (size_t i = 0; i < COUNT_OF(kept_variables); i++) {
		const char *value = getenv(kept_variables[i]);

		if (value)
			env[count++] = arena_format(a, "%s=%s", kept_variables[i], value);
	}
	return env;
}

/* The names of the variables that secrets of providers are in; NULL-terminated. */
static const char **list_secret_variables(struct arena *a, const struct config *config)
{
	const char **names =
	        ARENA_ARRAY(a, const char *, CONFIG_PROVIDERS_MAX *CONFIG_PROVIDER_VALUES_MAX + 1);
	struct config_providers all = {.count = 0};
	size_t count = 0;

	(void)!config_providers_load(a, config, &all, &(struct error){0});
	for (unsigned i = 0; i < all.count; i++)
		for (unsigned j = 0; j < all.items[i].value_count; j++) {
			const struct config_provider_value *v = &all.items[i].values[j];
			const struct config_provider_option *option =
			        config_provider_option_find(all.items[i].kind, v->name);

			if (option->is_secret && strncmp(v->value, "env:", 4) == 0)
				names[count++] = v->value + 4;
		}
	names[count] = NULL;
	return names;
}

/* For the api process, which reads the secrets that the configuration names by reference. */
const char **api_environment(struct arena *a, const struct config *config)
{
	const char **secrets = list_secret_variables(a, config);
	const char **env = ARENA_ARRAY(
	        a, const char *,
	        COUNT_OF(kept_variables) + CONFIG_PROVIDERS_MAX * CONFIG_PROVIDER_VALUES_MAX + 1);
	const char **kept = child_environment(a);
	size_t count = 0;

	for (; *kept; kept++)
		env[count++] = *kept;
	for (; *secrets; secrets++) {
		const char *value = getenv(*secrets);

		if (value)
			env[count++] = arena_format(a, "%s=%s", *secrets, value);
	}
	env[count] = NULL;
	return env;
}
