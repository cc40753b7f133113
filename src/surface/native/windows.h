/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/windows.h — opening windows, for the routes of terminals and of windows. */
#pragma once

#include "edge/caller.h"
#include "terminal/terminal.h"

/* As the caller gave it; zero: the template's or the project's value. */
struct terminal_wish {
	const char *command, *cwd, *user;
	const struct json_map *env;
	int64_t ttl_s;
};
/* The caller's user or key, as the other viewers of a terminal see it. */
const char *terminal_who(const struct request *rq);
/* Sets all options except the size. */
MUST_CHECK int terminal_open_options(struct request *rq, const struct api_target *t,
                                     const struct terminal_wish *wish, struct terminal_open *ret,
                                     struct error *err);
