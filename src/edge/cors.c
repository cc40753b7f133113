/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "config/config.h"
#include "edge/api.h"
#include "edge/hooks.h"

const char *api_allow_origin(void *context, const char *origin)
{
	const struct api *api = context;
	struct span rest = span_of(api->config->cors_origins), name;
	bool more = rest.size > 0;

	if (span_equals_text(rest, "*"))
		return "*";
	while (more) {
		more = span_split(&rest, ',', &name);
		if (span_equals_text(span_trim(name), origin))
			return origin;
	}
	return NULL;
}
