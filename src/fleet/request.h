/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/request.h — checks of create requests, and maps of texts as JSON. */
#pragma once

#include "base/error.h"

struct arena;
struct fleet_create;
struct json_map;

MUST_CHECK int request_check(const struct fleet_create *request, struct error *err);
MUST_CHECK int request_check_env(const struct json_map *env, struct error *err);
/* {"KEY":"value"} */
const char *request_map_to_json(struct arena *a, const struct json_map *map);
/* Reads such a text, which this server has written itself. */
MUST_CHECK int request_map_of_json(struct arena *a, const char *text, struct json_map *ret,
                                   struct error *err);
