/* SPDX-License-Identifier: Apache-2.0 */
#include "store/audit.h"

#include <inttypes.h>

#include "base/fault.h"
#include "base/id.h"
#include "store/column_rows.h"
#include "store/pages.h"
#include "store/query.h"

struct audit_search {
	const char *project_id, *organization_id, *user_id, *key_id, *target_id, *request_id,
	        *result, *action, *prefix;
	int64_t after, before, since, until, limit;
};
struct audit_move {
	int64_t sequence, expected;
	unsigned char hash[AUDIT_HASH_SIZE];
};
struct audit_purge {
	int64_t before, upto, base, slice;
};

COLUMNS_OF(audit_record);
COLUMNS_OF(audit_head);
COLUMNS_OF(audit_search);
COLUMNS_OF(audit_move);
COLUMNS_OF(audit_purge);
COLUMNS_OF(audit_checkpoint_record);

#define PURGE_SLICE 5000

static int find_head(struct store_connection *c, struct arena *a, struct audit_head *ret,
                     struct error *err)
{
	struct audit_head fresh = {0};
	struct id chain = id_new();
	int found = query_find(c, QUERY_AUDIT_HEAD_FIND, NULL, INTO(a, ret), err);

	if (found != 0)
		return found < 0 ? -1 : 0;
	fresh.chain = chain.text;
	if (query_run(c, QUERY_AUDIT_HEAD_INSERT, &fresh, NULL, err) < 0)
		return -1;
	return ROW_OR(query_find(c, QUERY_AUDIT_HEAD_FIND, NULL, INTO(a, ret), err),
	              FAIL(err, ERROR_SYSTEM, "the head of the audit is missing"));
}

struct head_read {
	struct arena *arena;
	struct audit_head *ret;
};

static int run_head(struct store_connection *c, void *context, struct error *err)
{
	struct head_read *read = context;

	return find_head(c, read->arena, read->ret, err);
}

int store_audit_head(struct store *s, struct arena *a, struct audit_head *ret, struct error *err)
{
	struct head_read read = {a, ret};
	int found = store_find_query(s, QUERY_AUDIT_HEAD_FIND, NULL, INTO(a, ret), err);

	return found != 0 ? (found < 0 ? -1 : 0) : store_change(s, run_head, &read, err);
}

struct appending {
	const struct audit_batch *batch;
	struct arena *arena;
	struct audit_head head;
};

static int append_row(struct store_connection *c, struct appending *w, struct audit_row *row,
                      struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(AUDIT_LINE_MAX);
	struct audit_record record;
	int64_t known = 0;

	if (w->batch->may_exist &&
	    query_count(c, QUERY_AUDIT_FIND_EVENT, LOOKUP(.id = row->id), &known, err) < 0)
		return -1;
	if (known > 0)
		return 0;
	row->sequence = w->head.sequence + 1;
	audit_row_write(&text, row);
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "a row of the audit is larger than %d bytes",
		            AUDIT_LINE_MAX);
	record.row = *row;
	audit_digest(buf_span(&text), record.digest);
	audit_hash(row->sequence, w->head.hash, record.digest, record.hash);
	if (query_run(c, QUERY_AUDIT_INSERT, &record, NULL, err) < 0)
		return -1;
	w->head.sequence = row->sequence;
	memcpy(w->head.hash, record.hash, AUDIT_HASH_SIZE);
	return 0;
}

static int run_append(struct store_connection *c, void *context, struct error *err)
{
	struct appending *w = context;
	struct audit_move move = {0};
	int moved;

	if (query_run(c, QUERY_AUDIT_HEAD_LOCK, NULL, NULL, err) < 0 ||
	    find_head(c, w->arena, &w->head, err) < 0)
		return -1;
	move.expected = w->head.sequence;
	for (size_t i = 0; i < w->batch->count; i++)
		if (append_row(c, w, &w->batch->rows[i], err) < 0)
			return -1;
	if (w->head.sequence == move.expected)
		return 0;
	fault_point("audit", "rows");
	move.sequence = w->head.sequence;
	memcpy(move.hash, w->head.hash, AUDIT_HASH_SIZE);
	moved = query_run(c, QUERY_AUDIT_HEAD_MOVE, &move, NULL, err);
	if (moved < 0)
		return -1;
	fault_point("audit", "head");
	return moved == 1 ? 0 : FAIL(err, ERROR_CONFLICT, "the audit was written at the same time");
}

int store_audit_append(struct store *s, const struct audit_batch *batch,
                       struct audit_head *ret_head, struct arena *a, struct error *err)
{
	struct appending w = {.batch = batch, .arena = a};

	if (store_change(s, run_append, &w, err) < 0)
		return -1;
	*ret_head = w.head;
	return 0;
}

/* "projects.*" -> "projects.", and nothing for "*". */
static const char *prefix_of(struct arena *a, const char *pattern)
{
	size_t size = pattern ? strlen(pattern) : 0;

	if (size < 2 || pattern[size - 1] != '*')
		return NULL;
	return arena_copy(a, (struct span){pattern, size - 1});
}

int store_audit_list(struct store *s, struct arena *a, const struct audit_page *page,
                     struct audit_list *ret, struct error *err)
{
	const struct audit_filter *f = &page->filter;
	bool is_pattern = f->pattern && strchr(f->pattern, '*');
	struct audit_search search = {
	        .project_id = f->project_id,
	        .organization_id = f->organization_id,
	        .user_id = f->user_id,
	        .key_id = f->key_id,
	        .target_id = f->target_id,
	        .request_id = f->request_id,
	        .result = f->result,
	        .action = is_pattern ? NULL : f->pattern,
	        .prefix = prefix_of(a, f->pattern),
	        .after = page->after,
	        .before = page->before > 0 ? page->before : INT64_MAX,
	        .since = f->since,
	        .until = f->until > 0 ? f->until : INT64_MAX,
	        .limit = list_limit(page->limit),
	};
	struct audit_head head;

	if (store_audit_head(s, a, &head, err) < 0)
		return -1;
	if (search.after < head.base)
		search.after = head.base;
	return store_list_query(s, page->newest ? QUERY_AUDIT_NEWEST : QUERY_AUDIT_LIST, &search,
	                        LIST_INTO(a, ret), err);
}

int store_audit_checkpoint_add(struct store *s, const struct audit_checkpoint_record *c,
                               struct error *err)
{
	return store_change_query(s, QUERY_AUDIT_CHECKPOINT_INSERT, c, err) < 0 ? -1 : 0;
}

int store_audit_checkpoint_list(struct store *s, struct arena *a, const struct audit_page *page,
                                struct audit_checkpoint_list *ret, struct error *err)
{
	const struct audit_search search = {
	        .after = page->after,
	        .before = page->before > 0 ? page->before : INT64_MAX,
	        .limit = list_limit(page->limit),
	};

	return store_list_query(s, QUERY_AUDIT_CHECKPOINT_LIST, &search, LIST_INTO(a, ret), err);
}

int store_audit_checkpoint_before(struct store *s, struct arena *a, int64_t sequence,
                                  struct audit_checkpoint_record *ret, bool *ret_found,
                                  struct error *err)
{
	const struct audit_search search = {.before = sequence};
	int found = store_find_query(s, QUERY_AUDIT_CHECKPOINT_BEFORE, &search, INTO(a, ret), err);

	if (found < 0)
		return -1;
	*ret_found = found == 1;
	return 0;
}

struct purging {
	struct arena *arena;
	const struct audit_retention *keep;
	struct audit_purged *ret;
};

static int tell_purge(struct store_connection *c, struct purging *w, struct error *err)
{
	struct audit_row told = w->keep->told;
	const struct audit_batch batch = {.rows = &told, .count = 1};
	struct appending appending = {.batch = &batch, .arena = w->arena};

	told.after_json = arena_format(w->arena, "{\"from\":%" PRId64 ",\"to\":%" PRId64 "}",
	                               w->ret->from, w->ret->to);
	return run_append(c, &appending, err);
}

/* The base moves first: what it covers is no longer listed, so a chain with half of its old rows
 * is never seen. */
static int run_purge(struct store_connection *c, void *context, struct error *err)
{
	struct purging *w = context;
	struct audit_purge purge = {.before = w->keep->before, .slice = PURGE_SLICE};
	struct audit_checkpoint_record old;
	struct audit_head head;
	int64_t left;
	int found;

	*w->ret = (struct audit_purged){0};
	if (find_head(c, w->arena, &head, err) < 0)
		return -1;
	purge.upto = head.sequence - w->keep->count_max;
	found = query_find(c, QUERY_AUDIT_CHECKPOINT_OLD, &purge, INTO(w->arena, &old), err);
	if (found < 0)
		return -1;
	purge.base = head.base;
	if (found == 1 && old.sequence > head.base) {
		purge.base = old.sequence;
		w->ret->from = head.base + 1;
		w->ret->to = purge.base;
	}
	if (query_run(c, QUERY_AUDIT_BASE_MOVE, &purge, NULL, err) < 0 ||
	    query_run(c, QUERY_AUDIT_PURGE_ROWS, &purge, NULL, err) < 0 ||
	    query_run(c, QUERY_AUDIT_PURGE_CHECKPOINTS, &purge, NULL, err) < 0 ||
	    query_count(c, QUERY_AUDIT_COUNT_OLD, &purge, &left, err) < 0)
		return -1;
	w->ret->more = left > 0;
	return w->ret->to > 0 ? tell_purge(c, w, err) : 0;
}

int store_audit_purge(struct store *s, const struct audit_retention *keep, struct audit_purged *ret,
                      struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct purging w = {&a, keep, ret};

	return store_change(s, run_purge, &w, err);
}
