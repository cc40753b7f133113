/* SPDX-License-Identifier: Apache-2.0 */
/* store/projects.h — projects and their limits.
 *
 * A closing project has no valid key and accepts no new sandbox; it is removed once it is empty. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

struct store;

#define STORE_PROJECTS_MAX 10000
#define PROJECT_SOURCES_MAX 256 /* projects with a source address */

/* 0 in a limit = the platform's limit. */
struct project_record {
	const char *id;
	const char *name;
	const char *organization_id;       /* "" of a new project: the first */
	struct sandbox_resources defaults; /* of a new sandbox */
	struct sandbox_resources maximums; /* of a sandbox */
	int64_t sandboxes_max;
	struct sandbox_timeouts timeouts; /* of its sandboxes; only inherited ones */
	int64_t terminal_ttl_ms;
	int64_t artifacts_max_mb;
	int64_t artifacts_keep_ms;
	int64_t storage_max_mb; /* templates, snapshots, backups and volumes together */
	bool record_terminals;  /* record terminal windows from their start */
	/* Of its sandboxes, unless their request or template says otherwise; "" = any. */
	const char *provider, *isolation;
	/* By which connections of its sandboxes leave, and those of no other project; "" = any. */
	const char *source_address;
	bool closing; /* the project is being deleted */
	int64_t created_at;
	int64_t version; /* grows with every change; read-only */
};

struct project_list {
	struct project_record *items;
	size_t count;
};

MUST_CHECK int store_project_insert(struct store *s, const struct project_record *r,
                                    struct error *err);
MUST_CHECK int store_project_find(struct store *s, struct arena *a, const char *id,
                                  struct project_record *ret, struct error *err);
/* By its id, else by its name. */
MUST_CHECK int store_project_find_named(struct store *s, struct arena *a, const char *name,
                                        struct project_record *ret, struct error *err);
struct project_page {
	const char *after; /* last name of the previous page; "" at first */
	int64_t limit;
};

/* Sorted by name. */
MUST_CHECK int store_project_list(struct store *s, struct arena *a, const struct project_page *page,
                                  struct project_list *ret, struct error *err);

struct project_edit {
	const char *id;
	/* Changes the current record, except id, closing and created_at. May be called more than
	 * once. */
	int (*edit)(struct project_record *r, const void *context, struct error *err);
	const void *context;
};

/* ERROR_CONFLICT when the new name, or the source address, is taken; ERROR_LIMIT when
 * PROJECT_SOURCES_MAX projects have one. */
MUST_CHECK int store_project_edit(struct store *s, struct arena *a, const struct project_edit *edit,
                                  struct project_record *ret, struct error *err);

struct project_closing {
	const char *id;
	bool with_sandboxes; /* false: ERROR_CONFLICT while the project has sandboxes */
	int64_t now;
};

/* Marks the project as closing and revokes its keys. May be repeated. */
MUST_CHECK int store_project_close(struct store *s, const struct project_closing *closing,
                                   struct error *err);
MUST_CHECK int store_project_list_closing(struct store *s, struct arena *a,
                                          struct project_list *ret, struct error *err);

/* Those with a source address, by id. */
MUST_CHECK int store_project_list_sources(struct store *s, struct arena *a,
                                          struct project_list *ret, struct error *err);

/* Removes the project with keys, members, configs, leases and rows of deleted sandboxes.
 * ERROR_CONFLICT when it is not closing, or while it has a sandbox or a template. */
MUST_CHECK int store_project_remove(struct store *s, const char *id, struct error *err);
