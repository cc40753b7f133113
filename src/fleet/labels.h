/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/labels.h — the labels of callers and those of the server. Private to this folder.
 *
 * A label whose key begins with "atoll." is the server's own: it says which lease, config or build
 * has the sandbox, and the server deletes and limits by it. No caller sets, changes or removes one.
 * A copy of a sandbox keeps the label of its config, because that limits what runs in it, and no
 * other: a fork is not the lease's sandbox. */
#pragma once

#include "fleet/fleet.h"

/* Refuses keys and values of a wrong size, and the server's own keys. */
MUST_CHECK int labels_check(const struct json_map *labels, struct error *err);
/* Those of callers, then the server's own. */
struct json_map labels_join(struct arena *a, const struct json_map *labels,
                            const struct json_map *own);
/* Apart again; texts are borrowed. */
void labels_split(struct arena *a, const struct json_map *all, struct json_map *ret_labels,
                  struct json_map *ret_own);
/* Of the server's own labels those that a copy of the sandbox keeps. */
struct json_map labels_of_copy(struct arena *a, const struct json_map *own);
