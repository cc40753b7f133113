/* SPDX-License-Identifier: Apache-2.0 */
/* store/vault.h — named secrets of a project. Values are stored encrypted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

#define STORE_VAULT_MAX 100 /* per project */

struct vault_record {
	const char *id, *project_id;
	const char *name; /* unique in the project */
	const char *value;
	const char *metadata_json; /* {"a":"b"} */
	int64_t version;           /* version of the value, from 1 */
	int64_t created_at, updated_at;
};
struct vault_list {
	struct vault_record *items;
	size_t count;
};
/* ERROR_CONFLICT when the name is taken, ERROR_LIMIT when the project has STORE_VAULT_MAX
 * others. */
MUST_CHECK int store_vault_insert(struct store *s, const struct vault_record *r, struct error *err);
/* Writes value and metadata by id and increments the version. */
MUST_CHECK int store_vault_update(struct store *s, struct arena *a, const struct vault_record *r,
                                  struct vault_record *ret, struct error *err);
/* Writes only the metadata by id, so a concurrent change of the value is kept. */
MUST_CHECK int store_vault_describe(struct store *s, struct arena *a, const struct vault_record *r,
                                    struct vault_record *ret, struct error *err);
/* Finds by id or name. */
MUST_CHECK int store_vault_find(struct store *s, struct arena *a, const char *project_id,
                                const char *id_or_name, struct vault_record *ret,
                                struct error *err);
/* Sorted by name. */
MUST_CHECK int store_vault_list(struct store *s, struct arena *a, const char *project_id,
                                struct vault_list *ret, struct error *err);
MUST_CHECK int store_vault_remove(struct store *s, const char *project_id, const char *id_or_name,
                                  struct error *err);
