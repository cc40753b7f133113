/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/windows.h — opening windows, for the routes of terminals and of windows. */
#pragma once

#include "edge/api.h"

struct api_target;
struct json_map;
struct terminal_open;

/* As the caller gave it; zero: the template's or the project's value. */
struct window_open_request {
	const char *command, *cwd, *user;
	const struct json_map *env;
	int64_t ttl_s;
};
/* Sets all options except the size. */
MUST_CHECK int terminal_options_resolve(struct request *rq, const struct api_target *t,
                                        const struct window_open_request *request,
                                        struct terminal_open *ret, struct error *err);
