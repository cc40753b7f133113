/* SPDX-License-Identifier: Apache-2.0 */
/* Removal of sandboxes, templates and backups in state "failed" that no caller has removed for
 * `failed_keep`.
 *
 * A failed sandbox keeps its row, and with it the row that names its base (snapshot_bases). It is
 * deleted as by DELETE: its event is recorded, and the purge of deleted rows removes both rows a
 * day later. It stays while the provider or the blob store has files of it, or does not
 * answer. Default templates stay: the next create builds them again. */

#include <string.h>

#include "config/config.h"
#include "fleet/backup/backup.h"
#include "fleet/core/cache.h"
#include "fleet/core/sandboxes.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/lifecycle/reconcile.h"
#include "fleet/recovery/retention.h"
#include "fleet/server/rounds.h"
#include "fleet/template/templates.h"
#include "store/backups.h"

/* At most so many of each kind in a sweep. */
#define FAILED_AT_ONCE 32

struct removal_round {
	int64_t before; /* what failed earlier is removed */
	unsigned left;  /* of FAILED_AT_ONCE */
};

/* A sandbox that failed while its files were restored still has its archive. The rows tell, also
 * while the server runs without its blob store. */
static bool may_have_archive(struct fleet *f, const char *id)
{
	const struct backup_filter filter = {.holder_id = id, .limit = 1};
	AUTO(arena_done) struct arena arena = {0};
	struct backup_list list;
	struct error err = {0};

	if (store_backup_list(f->store, &arena, &filter, &list, &err) == 0)
		return list.count > 0;
	log_warning("a failed sandbox stays: its archive cannot be looked for", TEXT("sandbox", id),
	            FAILURE(&err));
	return true;
}

static bool is_sandbox_due(struct fleet *f, const struct removal_round *round,
                           const struct sandbox_record *r)
{
	return r->actual == SANDBOX_FAILED && r->stopped_at < round->before &&
	       !may_have_archive(f, r->id);
}

static bool has_files(const struct operation *op)
{
	struct error err = {0};
	enum observed_state observed;

	if (observed_state_find(op, &observed, &err) < 0) {
		log_warning("a failed sandbox stays: its files cannot be looked for",
		            TEXT("sandbox", op->record.id), FAILURE(&err));
		return true;
	}
	return observed != OBSERVED_NONE;
}

static void remove_sandbox(struct fleet *f, const struct sandbox_record *r, void *context)
{
	AUTO(arena_done) struct arena arena = {0};
	AUTO(operation_end) struct operation op = {0};
	struct removal_round *round = context;
	struct error err = {0};

	if (round->left == 0 || !is_sandbox_due(f, round, r) || cache_is_busy(f->cache, r->id))
		return;
	round->left--;
	if (operation_begin(f, &arena, r->id, deadline_after(0), &op, &err) < 0 ||
	    !is_sandbox_due(f, round, &op.record) || has_files(&op))
		return;
	if (lifecycle_delete(&op, SANDBOX_REASON_NONE, &err) < 0)
		log_warning("a failed sandbox is not removed", TEXT("sandbox", r->id),
		            FAILURE(&err));
	else
		log_info("a failed sandbox is removed", TEXT("sandbox", r->id));
}

/* Default templates have no project; images_sweep removes pulled ones. Templates of another server
 * are removed by that server. */
static bool is_template_due(const struct fleet *f, const struct removal_round *round,
                            const struct template_record *t)
{
	return t->state == TEMPLATE_FAILED && *t->project_id && !t->is_pulled &&
	       t->updated_at < round->before && (!*t->node || strcmp(t->node, f->node) == 0);
}

/* The store refuses while a sandbox or a snapshot uses this template. */
static void remove_template(struct fleet *f, const struct template_record *t)
{
	struct error err = {0};

	if (fleet_template_remove(f, t->project_id, t->id, &err) < 0)
		log_warning("a failed template is not removed", TEXT("template", t->id),
		            FAILURE(&err));
	else
		log_info("a failed template is removed", TEXT("template", t->id));
}

static int remove_templates(struct fleet *f, struct removal_round round, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct template_list list;

	if (store_template_list(f->store, &arena, NULL, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count && round.left > 0; i++) {
		if (!is_template_due(f, &round, &list.items[i]))
			continue;
		round.left--;
		remove_template(f, &list.items[i]);
	}
	return 0;
}

/* Archives (backups with a holder) are removed with their sandbox. */
static bool is_backup_due(const struct removal_round *round, const struct backup_record *r)
{
	return r->state == BACKUP_FAILED && !*r->holder_id && r->created_at < round->before;
}

static void remove_backup(struct fleet *f, const struct backup_record *r)
{
	struct error err = {0};

	if (backup_drop(f, r->id, &err) < 0)
		log_warning("a failed backup is not removed", TEXT("backup", r->id), FAILURE(&err));
	else
		log_info("a failed backup is removed", TEXT("backup", r->id));
}

static int remove_backups(struct fleet *f, struct removal_round round, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct backup_filter filter = {.limit = 1000, .node = f->node, .holder_id = ""};
	struct backup_list list;

	do {
		if (store_backup_list(f->store, &arena, &filter, &list, err) < 0)
			return -1;
		for (size_t i = 0; i < list.count && round.left > 0; i++) {
			if (!is_backup_due(&round, &list.items[i]))
				continue;
			round.left--;
			remove_backup(f, &list.items[i]);
		}
		filter.page = list.next_page;
	} while (filter.page && round.left > 0);
	return 0;
}

void failed_tick(struct fleet *f)
{
	int64_t keep_ms = f->config->failed_keep_ms;
	const struct removal_round round = {.before = fleet_retention_ms(f) - keep_ms,
	                                    .left = FAILED_AT_ONCE};
	struct removal_round sandboxes = round;
	struct error err = {0};

	if (keep_ms == 0)
		return;
	if (fleet_each_sandbox(f, remove_sandbox, &sandboxes, &err) < 0 ||
	    remove_templates(f, round, &err) < 0 ||
	    (f->blobs && remove_backups(f, round, &err) < 0))
		log_warning("what has failed stays until the next sweep", FAILURE(&err));
}
