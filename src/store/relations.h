/* SPDX-License-Identifier: Apache-2.0 */
/* store/relations.h — related objects of a sandbox: the snapshots it was made of and lies on, and
 * its volumes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

enum relation_kind {
	RELATION_BACKUP, /* a backup of a snapshot, not failed */
	RELATION_BELOW,  /* a snapshot below its current files */
	RELATION_ORIGIN, /* the snapshot that it was made of */
	RELATION_VOLUME,
	RELATION_KIND_COUNT,
};
const char *relation_kind_name(enum relation_kind kind);

#define RELATION_BELOW_MAX 64 /* only the newest are returned */

struct relation_record {
	const char *of_id; /* id of the sandbox or snapshot */
	enum relation_kind kind;
	const char *id, *name; /* snapshot or volume; name "" = removed */
	const char *sandbox_id,
	        *sandbox_name; /* sandbox that the snapshot was taken of; "" = unknown */
	const char *path;      /* mount path of a volume */
	const char *state;     /* state of a backup */
	bool is_read_only;
	int64_t step; /* BELOW: 1 = the top layer */
};
struct relation_list {
	struct relation_record
	        *items; /* sorted by of_id, kind, step, path; a page of snapshots by of_id, id */
	size_t count;
};
/* Relations of a sandbox; or of a snapshot: the snapshots below it and its backups. A single
 * query. */
MUST_CHECK int store_relations_of(struct store *s, struct arena *a, const char *id,
                                  struct relation_list *ret, struct error *err);
/* Relations of a page of a project's sandboxes, without BELOW; of a page of its snapshots. */
struct relation_page {
	const char *project_id;
	int64_t from, to; /* of snapshots: the times of their creation */
	const char *ids;  /* of sandboxes: a JSON object whose members are named by their ids */
};
MUST_CHECK int store_relations_of_page(struct store *s, struct arena *a,
                                       const struct relation_page *page, struct relation_list *ret,
                                       struct error *err);
/* The backups of a page of a project's snapshots. */
MUST_CHECK int store_relations_of_snapshots(struct store *s, struct arena *a,
                                            const struct relation_page *page,
                                            struct relation_list *ret, struct error *err);
/* The part of the list with this of_id; borrowed. */
struct relation_list relations_of(const struct relation_list *list, const char *id);
