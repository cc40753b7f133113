/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/labels.h — labels of callers and own labels of the server.
 *
 * The server sets labels whose key begins with "atoll.": they name the lease, the config or the
 * build of a sandbox, and the server deletes and limits by them. Callers cannot set, change or
 * remove them. A copy of a sandbox keeps only the label of its config, which limits what runs in
 * it, and that of its GPUs: a fork does not belong to the lease of its source. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "fleet/core/text_map.h"

struct arena;
struct error;
struct json_map;
struct json_pair;

/* The label of a sandbox with the key of its lease. */
#define LEASE_LABEL "atoll.lease"

/* Refuses keys and values of a wrong size, and keys of own labels. */
MUST_CHECK int labels_check(const struct json_map *labels, struct error *err);
/* The sizes of any label, also of an own one. */
MUST_CHECK int labels_check_one(const struct json_pair *label, struct error *err);
/* All labels: those of callers, then the own ones. */
struct json_map labels_join(struct arena *a, const struct json_map *labels,
                            const struct json_map *own);
/* The labels and one more; texts are borrowed. */
struct json_map labels_add(struct arena *a, const struct json_map *labels, const char *key,
                           const char *value);
/* Splits all labels into the two kinds; texts are borrowed. */
void labels_split(struct arena *a, const struct json_map *all, struct json_map *ret_labels,
                  struct json_map *ret_own);
/* The number of SANDBOX_GPUS_LABEL among the own labels; 0: there is none. */
unsigned labels_gpus(const struct json_map *own);
/* The same of all labels as a row has them. */
unsigned labels_gpus_of_row(struct arena *a, const char *labels_json);
bool labels_have(const struct json_map *labels, const char *key);
/* The value of one label of a row; NULL: the row does not have it. */
const char *labels_text_of_row(struct arena *a, const char *labels_json, const char *key);
/* The own labels that a copy of the sandbox keeps. */
struct json_map labels_of_copy(struct arena *a, const struct json_map *own);
