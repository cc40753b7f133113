/* SPDX-License-Identifier: Apache-2.0 */
/* edge/audit_words.h — private: how the audit names an operation and its target, and which
 * operations it has rows of. */
#pragma once

#include <stdbool.h>

struct arena;
struct request;
struct route;

/* Whether the operation changes something or attaches to a terminal. */
bool audit_is_write(const struct route *route);
/* Whether it is a call into a sandbox, of which activity has a row, too. */
bool audit_is_call(const struct route *route);
/* "instances.exec", "projects.update", "instances.terminal.attach"; in the arena. */
const char *audit_action(struct arena *a, const struct route *route);
const char *audit_detach_action(struct arena *a, const struct route *route);
/* The thing that the path names: "instances" and its id. Untouched without one. */
void audit_target(struct request *rq, const char **ret_kind, const char **ret_id);
