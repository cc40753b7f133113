/* SPDX-License-Identifier: Apache-2.0 */
/* store/audit.h — the rows of the audit, in one chain for all servers of the database.
 *
 * An append reads the head, adds rows and moves the head in one transaction. SQLite has one writer;
 * PostgreSQL runs it as SERIALIZABLE and again after a conflict: so the chain cannot fork. What the
 * store keeps of a row is what was hashed. audit/log/log.h appends in batches. */
#pragma once

#include <stdbool.h>

#include "audit/audit.h"

struct arena;
struct store;

struct audit_record {
	struct audit_row row;
	unsigned char digest[AUDIT_HASH_SIZE], hash[AUDIT_HASH_SIZE];
};
struct audit_list {
	struct audit_record *items;
	size_t count;
};

struct audit_head {
	const char *chain;
	int64_t sequence; /* of the newest row; 0 = none */
	unsigned char hash[AUDIT_HASH_SIZE];
	int64_t base; /* rows up to this number are dropped; a checkpoint has it */
};
/* Makes the chain on first use. */
MUST_CHECK int store_audit_head(struct store *s, struct arena *a, struct audit_head *ret,
                                struct error *err);

/* Adds rows, sets their numbers, and returns after they are on the disk. */
struct audit_batch {
	struct audit_row *rows;
	size_t count;
	bool may_exist; /* a row whose id exists is left out: recovery of a spool */
};
MUST_CHECK int store_audit_append(struct store *s, const struct audit_batch *batch,
                                  struct audit_head *ret_head, struct arena *a, struct error *err);

/* Selects rows above the head's base; NULL = any. */
struct audit_filter {
	const char *project_id, *organization_id, *user_id, *key_id, *target_id, *request_id,
	        *result;
	const char *pattern;  /* an action, or the begin of one and '*' */
	int64_t since, until; /* unix ms; until 0 = no bound */
};
struct audit_page {
	struct audit_filter filter;
	int64_t after, before; /* exclusive; before 0 = no bound */
	int64_t limit;         /* 1..1000 */
	bool newest;           /* the last `limit` rows, the newest first */
};
MUST_CHECK int store_audit_list(struct store *s, struct arena *a, const struct audit_page *page,
                                struct audit_list *ret, struct error *err);

struct audit_checkpoint_record {
	int64_t sequence, at;
	unsigned char hash[AUDIT_HASH_SIZE], public_key[AUDIT_KEY_SIZE];
	const char *signature; /* hexadecimal */
};
struct audit_checkpoint_list {
	struct audit_checkpoint_record *items;
	size_t count;
};
/* A checkpoint of a row that has one stays as it is. */
MUST_CHECK int store_audit_checkpoint_add(struct store *s, const struct audit_checkpoint_record *c,
                                          struct error *err);
/* After `after` and before `before`, oldest first, at most `limit`. */
MUST_CHECK int store_audit_checkpoint_list(struct store *s, struct arena *a,
                                           const struct audit_page *page,
                                           struct audit_checkpoint_list *ret, struct error *err);
/* The newest of a row before `sequence`; *ret_found is false without one. */
MUST_CHECK int store_audit_checkpoint_before(struct store *s, struct arena *a, int64_t sequence,
                                             struct audit_checkpoint_record *ret, bool *ret_found,
                                             struct error *err);

/* Drops rows up to the newest checkpoint that is old enough, a few thousand per call. A call that
 * is killed leaves rows that are not listed any more; the next call drops them. */
struct audit_retention {
	int64_t before;    /* unix ms: rows before may go */
	int64_t count_max; /* rows beyond may go */
	/* Is appended, with the numbers of the rows that go, in the transaction that drops them: a
	 * chain without its begin that has no such row was cut by other hands. */
	struct audit_row told;
};
struct audit_purged {
	int64_t from, to; /* numbers of the rows that are no longer listed; 0 = none */
	bool more;        /* call again */
};
MUST_CHECK int store_audit_purge(struct store *s, const struct audit_retention *keep,
                                 struct audit_purged *ret, struct error *err);
