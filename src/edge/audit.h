/* SPDX-License-Identifier: Apache-2.0 */
/* edge/audit.h — one log line for each administrative change: caller, path, subject and status.
 * Loop thread. */
#pragma once

struct api_caller;
struct request;

/* Writes nothing for routes that are not administrative. */
void api_audit(const struct request *rq, const struct api_caller *caller, int status);
