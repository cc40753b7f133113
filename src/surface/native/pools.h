/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/pools.h — the size of a pool in bodies. */
#pragma once

#include "json/json.h"

struct fleet_pool_size;

struct pool_body {
	int64_t min, target, max;
	bool internet;
	uint64_t present;
};
enum { POOL_MIN, POOL_TARGET, POOL_MAX, POOL_INTERNET };
extern const struct json_shape pool_body_shape;
/* `server_internet`: the server's network. A pool of a template uses it; another value is
 * ERROR_UNSUPPORTED. */
MUST_CHECK int pool_body_parse(const struct pool_body *body, bool server_internet,
                               struct fleet_pool_size *ret, struct error *err);
