/* SPDX-License-Identifier: Apache-2.0 */
/* store/relations.h — what a sandbox was made of, what its files lie on, and the volumes that it
 * has. Part of the store: the rules of store.h hold. */
#pragma once

#include "store/store.h"

enum relation_kind {
	RELATION_BACKUP, /* of a snapshot, that is not failed */
	RELATION_BELOW,  /* a snapshot that its files lie on now */
	RELATION_ORIGIN, /* the snapshot that it was made of */
	RELATION_VOLUME,
	RELATION_KIND_COUNT,
};
const char *relation_kind_name(enum relation_kind kind);

#define RELATION_BELOW_MAX 64 /* the newest so many are told */

struct relation_record {
	const char *of_id; /* the sandbox, or the snapshot */
	enum relation_kind kind;
	const char *id, *name; /* of the snapshot or the volume; name "" = it is removed */
	const char *sandbox_id, *sandbox_name; /* that the snapshot was taken of; "" = not known */
	const char *path;                      /* of a volume */
	const char *state;                     /* of a backup */
	bool is_read_only;
	int64_t step; /* BELOW: 1 = the uppermost */
};
struct relation_list {
	struct relation_record
	        *items; /* by of_id, kind, step, path; of a page of snapshots by of_id, id */
	size_t count;
};
/* Of one sandbox or snapshot, by id: of a snapshot, what it lies on and its backups. In one query.
 */
MUST_CHECK int store_relations_of(struct store *s, struct arena *a, const char *id,
                                  struct relation_list *ret, struct error *err);
/* Of a page of a project's sandboxes, without BELOW: those that were made from..to. */
struct relation_page {
	const char *project_id;
	int64_t from, to;
	int64_t with_deleted; /* 1 = deleted sandboxes are on it */
};
MUST_CHECK int store_relations_of_page(struct store *s, struct arena *a,
                                       const struct relation_page *page, struct relation_list *ret,
                                       struct error *err);
/* The backups of a page of a project's snapshots, in the same way. */
MUST_CHECK int store_relations_of_snapshots(struct store *s, struct arena *a,
                                            const struct relation_page *page,
                                            struct relation_list *ret, struct error *err);
/* Of these, those of one: borrowed. */
struct relation_list relations_of(const struct relation_list *list, const char *id);

/* ---- for the store itself ---- */

struct relation_search {
	const char *id;
	int64_t below_max;
};
