/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/text_map.h — maps of texts as rows keep them: environments and labels. */
#pragma once

#include "base/error.h"

struct arena;
struct error;
struct json_map;

/* Refuses names that cannot be variables, and environments that are too large. */
MUST_CHECK int environment_check(const struct json_map *env, struct error *err);
/* Reads {"KEY":"value"}, which this server has written itself (json_format_map). */
MUST_CHECK int text_map_of_json(struct arena *a, const char *text, struct json_map *ret,
                                struct error *err);
/* NULL: it has no such key. */
const char *text_map_find(const struct json_map *map, const char *key);
