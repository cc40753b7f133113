/* SPDX-License-Identifier: Apache-2.0 */
/* store/configs.h — reusable sandbox configurations of a project. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

#define STORE_CONFIGS_MAX 1000 /* per project */

struct config_record {
	const char *id;
	const char *project_id;
	const char *name;        /* unique in the project */
	const char *config_json; /* everything except the environment */
	const char *env_json;    /* {"A":"b"}; stored encrypted */
	int64_t created_at;
	int64_t updated_at;
};

struct config_list {
	struct config_record *items;
	size_t count;
};

MUST_CHECK int store_config_insert(struct store *s, const struct config_record *r,
                                   struct error *err);

/* Finds by id or name. */
MUST_CHECK int store_config_find(struct store *s, struct arena *a, const char *project_id,
                                 const char *id_or_name, struct config_record *ret,
                                 struct error *err);
MUST_CHECK int store_config_list(struct store *s, struct arena *a, const char *project_id,
                                 struct config_list *ret, struct error *err);

/* Writes all members except id, project and created_at. ERROR_CONFLICT when updated_at of the row
 * is not `seen_at`. */
MUST_CHECK int store_config_update(struct store *s, const struct config_record *r, int64_t seen_at,
                                   struct error *err);
MUST_CHECK int store_config_remove(struct store *s, const char *project_id, const char *id,
                                   struct error *err);
