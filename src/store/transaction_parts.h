/* SPDX-License-Identifier: Apache-2.0 */
/* store/transaction_parts.h — what the transactions of one noun do to the rows of another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/quota.h"
#include "store/queries.h"

struct lease_record;
struct member_record;
struct mount_list;
struct store_connection;
struct usage_record;
struct user_record;

/* projects.c: locks the project's data against other transactions until this one ends. */
MUST_CHECK int project_lock(struct store_connection *c, const char *project_id, struct error *err);
/* Fails with ERROR_LIMIT when the project has more than `max` rows by `count_query`. `nouns` names
 * them in the error. */
MUST_CHECK int project_check_count(struct store_connection *c, enum query_name count_query,
                                   const char *project_id, int64_t max, const char *nouns,
                                   struct error *err);
/* quotas.c: ERROR_LIMIT when a quota of the project, the key or the organisation is used up. The
 * row of the sandbox is written already and counts. */
struct quota_admission {
	const char *project_id, *key_id;
	struct quota_use own; /* what the sandbox adds, which the sums have already */
	int64_t now;
	enum quota_event event;
};
MUST_CHECK int quota_run_admit(struct store_connection *c, const struct quota_admission *admission,
                               struct error *err);
/* providers.c: creates and the removal of this stored provider wait for each other until the
 * transaction ends. ERROR_CONFLICT when it makes no more sandboxes. */
MUST_CHECK int provider_run_lock(struct store_connection *c, const char *name, struct error *err);
/* members.c */
/* organizations.c: ERROR_CONFLICT when an organisation would lose its last owner. */
MUST_CHECK int organization_run_leaving_all(struct store_connection *c, struct arena *a,
                                            const char *user_id, struct error *err);
/* Fails: the user is a member already. Always -1. */
int member_fail_present(const char *user_id, struct error *err);
MUST_CHECK int member_run_insertion(struct store_connection *c, const struct member_record *r,
                                    struct error *err);
MUST_CHECK int member_run_removal(struct store_connection *c, const struct member_record *r,
                                  struct error *err);
/* users.c */
MUST_CHECK int user_run_insertion(struct store_connection *c, const struct user_record *r,
                                  struct error *err);
/* approvals.c: store_access_request within a transaction. */
struct access_request;
struct approval_record;
struct arena;
MUST_CHECK int access_request_run(struct store_connection *c, struct arena *a,
                                  const struct access_request *request, struct approval_record *ret,
                                  struct error *err);
/* credentials.c: store_credential_insert within a transaction. */
struct credential_record;
MUST_CHECK int credential_run_insertion(struct store_connection *c,
                                        const struct credential_record *r, struct error *err);
/* templates.c: 1 when the template exists, else 0. */
MUST_CHECK int template_run_exists(struct store_connection *c, const char *id, struct error *err);
/* sandboxes.c: 1 and the sandbox's state (enum sandbox_state), or 0 without a row. */
MUST_CHECK int sandbox_run_state(struct store_connection *c, const char *id, int *ret_state,
                                 struct error *err);
/* usage.c: adds to the log, the balance and the budgets. */
MUST_CHECK int usage_rows_add(struct store_connection *c, const struct usage_record *rows,
                              size_t count, struct error *err);
/* volumes.c: attaches volumes. */
MUST_CHECK int mounts_run(struct store_connection *c, const struct mount_list *mounts,
                          struct error *err);
/* Replaces the mounts of the sandbox. */
MUST_CHECK int mounts_run_anew(struct store_connection *c, const char *sandbox_id,
                               const struct mount_list *mounts, struct error *err);
/* snapshots.c: records the snapshot that a sandbox's files begin with. */
MUST_CHECK int snapshot_run_origin(struct store_connection *c, const char *sandbox_id,
                                   const char *snapshot_id, struct error *err);
/* leases.c: inserts a row when lock_version is 0, else replaces it. */
MUST_CHECK int lease_run_claim(struct store_connection *c, const struct lease_record *r,
                               bool *ret_lost, struct error *err);
/* A lost lease is not a failure: *ret_lost is set. */
MUST_CHECK int lease_run_finish(struct store_connection *c, const struct lease_record *r,
                                bool *ret_lost, struct error *err);
