/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/windows.h — what opening a window by two routes shares. Private to this folder. */
#pragma once

#include "edge/caller.h"
#include "terminal/terminal.h"

/* As the caller gave it; zeroes = the template's and the project's. */
struct terminal_wish {
	const char *command, *cwd, *user;
	const struct json_map *env;
	int64_t ttl_s;
};
/* Who asks, as others who look at the terminal see it. */
const char *terminal_who(const struct request *rq);
/* All but the size. */
MUST_CHECK int terminal_open_options(struct request *rq, const struct api_target *t,
                                     const struct terminal_wish *wish, struct terminal_open *ret,
                                     struct error *err);
