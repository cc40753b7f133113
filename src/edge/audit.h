/* SPDX-License-Identifier: Apache-2.0 */
/* edge/audit.h — each administrative change is one line in the log: who, what, when, and whether it
 * was let. Private to this folder; loop thread. */
#pragma once

#include "edge/caller.h"

/* Whether the row changes who may do what, or what others start from. */
bool api_is_administrative(const struct route *route);
/* Writes nothing for other rows. */
void api_audit(const struct request *rq, const struct api_caller *caller, int status);
