/* SPDX-License-Identifier: Apache-2.0 */
/* calls/repository.h — locates a git repository in a sandbox, for git/git.h. */
#pragma once

#include "edge/api.h"

struct api_target;
struct git_at;

/* A NULL path is the sandbox's default folder. `target` is open. */
MUST_CHECK int repository_locate(struct request *rq, struct api_target *target, const char *path,
                                 struct git_at *ret, struct error *err);
