/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/environment.h — the environments of the server's processes, NULL-terminated, in the arena.
 */
#pragma once

struct arena;
struct config;

/* Of every process: few variables, because others may hold secrets. */
const char **child_environment(struct arena *a);
/* Of the api process: also the variables that its configuration names. */
const char **api_environment(struct arena *a, const struct config *config);
