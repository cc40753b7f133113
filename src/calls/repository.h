/* SPDX-License-Identifier: Apache-2.0 */
/* calls/repository.h — a repository in a sandbox, for git/git.h. Private to this folder; shared by
 * the surfaces that offer git. */
#pragma once

#include "edge/caller.h"
#include "git/git.h"

/* Of a target that is open; a NULL path is the default folder. */
MUST_CHECK int repository_locate(struct request *rq, struct api_target *target, const char *path,
                                 struct git_at *ret, struct error *err);
