/* SPDX-License-Identifier: Apache-2.0 */
#include "config/idle_variables.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"

static const struct config_idle_variable idle_variables[] = {
        {"SANDBOX_PREVIEW_PROXY_HOST",
         "no port of a container is published: the agent inside connects to it, so a preview "
         "needs no address of the Docker host"},
        {"SANDBOX_BASE_IMAGE",
         "default templates are built from their recipes; a create may name an image"},
        {"SANDBOX_CONSOLE_URL", "the server runs commands itself, without runners that call it"},
        {"SANDBOX_SNAPSHOT_CONTAINER", "backups lie in the folder of the option blobs"},
};

static bool is_set(char *const *environment, const char *name)
{
	size_t size = strlen(name);

	for (char *const *at = environment; at && *at; at++)
		if (strncmp(*at, name, size) == 0 && (*at)[size] == '=' && (*at)[size + 1])
			return true;
	return false;
}

const struct config_idle_variable *
config_idle_variable_next(char *const *environment, const struct config_idle_variable *after)
{
	for (size_t i = after ? (size_t)(after - idle_variables) + 1 : 0;
	     i < COUNT_OF(idle_variables); i++)
		if (is_set(environment, idle_variables[i].name))
			return &idle_variables[i];
	return NULL;
}
