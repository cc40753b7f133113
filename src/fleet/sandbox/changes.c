/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/sandbox/changes.h"

#include <string.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "fleet/core/sandboxes.h"
#include "fleet/core/template_cache.h"
#include "fleet/lifecycle/moves.h"
#include "fleet/sandbox/review.h"
#include "fleet/sandbox/stopped_files.h"
#include "fleet/snapshot/snapshot.h"
#include "provider/agent_reader.h"
#include "provider/snapshots.h"
#include "sandbox/change.h"
#include "store/snapshots.h"
#include "store/volumes.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define TEMPLATE_BASE "template"
#define LIST_MS 60000
#define REVERT_MS (10 * 60 * 1000)
#define REVERT_ENTRIES_MAX 50000 /* of one path */
#define REVERT_BYTES_MAX (UINT64_C(8) << 30)

/* Texts in the arena. */
struct file_comparison {
	const char *project_id, *template_id, *name;
	struct sandbox_review review;
	bool is_sandbox, is_on_template; /* the base is its template */
};

static int find_base(struct fleet *f, struct arena *a, const char *base, struct file_comparison *q,
                     struct error *err)
{
	const struct fleet_ref ref = {q->project_id, base};
	struct snapshot_record r;

	q->is_on_template = !base || strcmp(base, TEMPLATE_BASE) == 0;
	if (q->is_on_template)
		return 0;
	if (snapshot_find_ready(f, a, &ref, &r, err) < 0) {
		error_elsewhere(err, ""); /* where what is compared with it is not */
		return -1;
	}
	if (strcmp(r.template_id, q->template_id) != 0)
		return FAIL(err, ERROR_INVALID,
		            "snapshot '%s' lies on template '%s', which '%s' does not", r.name,
		            r.template_name, q->name);
	q->review.base = r.id;
	return 0;
}

/* A template built by steps is a folder and a layer: the layer that the sandbox was created with
 * or, if that is unknown or gone, the template's present one. */
static int find_layer(struct fleet *f, struct arena *a, const struct template_record *t,
                      struct file_comparison *q, struct error *err)
{
	struct snapshot_base base = {0};
	struct snapshot_record r;

	if (q->is_sandbox && store_snapshot_base(f->store, a, q->review.subject, &base, err) < 0)
		return -1;
	if (base.origin_id && !*base.origin_id)
		return 0;
	if (base.origin_id &&
	    store_snapshot_find(f->store, a, NULL, base.origin_id, &r, err) == 0 &&
	    r.kind == SNAPSHOT_LAYER && r.state == SNAPSHOT_READY)
		q->review.base = r.id;
	else if (*t->snapshot_id)
		q->review.base = t->snapshot_id;
	error_clear(err);
	return 0;
}

static int find_template(struct fleet *f, struct arena *a, struct file_comparison *q,
                         struct error *err)
{
	const struct fleet_ref ref = {q->project_id, q->template_id};
	struct template_record t;

	if (template_find(f, a, &ref, &t, err) < 0)
		return -1;
	q->review.template_dir = t.folder;
	return q->is_on_template ? find_layer(f, a, &t, q, err) : 0;
}

static int compare_with_sandbox(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                                const char *base, struct file_comparison *ret, struct error *err)
{
	*ret = (struct file_comparison){.project_id = r->project_id,
	                                .template_id = r->template_id,
	                                .name = r->name,
	                                .review = {.subject = r->id},
	                                .is_sandbox = true};
	if (!sandbox_is_alive(r) && r->actual != SANDBOX_STOPPED)
		return refuse_state(r, "compared", err);
	return find_base(f, a, base, ret, err) < 0 ? -1 : find_template(f, a, ret, err);
}

/* The parent may have been removed since. */
static const char *parent_of(struct fleet *f, struct arena *a, const struct snapshot_record *r)
{
	const struct fleet_ref ref = {r->project_id, r->parent_id};
	struct snapshot_record parent;

	return *r->parent_id && snapshot_find_ready(f, a, &ref, &parent, &(struct error){0}) == 0
	               ? r->parent_id
	               : NULL;
}

static int compare_with_snapshot(struct fleet *f, struct arena *a,
                                 const struct fleet_changes_ask *ask, struct file_comparison *ret,
                                 struct error *err)
{
	struct snapshot_record r;

	if (snapshot_find_ready(f, a, &ask->ref, &r, err) < 0 ||
	    snapshot_require(f, &r, PROVIDER_CAN_REVIEW, err) < 0)
		return -1;
	*ret = (struct file_comparison){.project_id = r.project_id,
	                                .template_id = r.template_id,
	                                .name = r.name,
	                                .review = {.subject = r.id}};
	if (find_base(f, a, ask->base ? ask->base : parent_of(f, a, &r), ret, err) < 0)
		return -1;
	return find_template(f, a, ret, err);
}

static int make_comparison(struct fleet *f, struct arena *a, const struct fleet_changes_ask *ask,
                           struct file_comparison *ret, struct error *err)
{
	struct sandbox_record r;

	if (provider_require(f->provider, PROVIDER_CAN_REVIEW, err) < 0 ||
	    provider_require(f->provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	if (ask->of_snapshot)
		return compare_with_snapshot(f, a, ask, ret, err);
	if (fleet_find(f, a, &ask->ref, &r, err) < 0 || sandbox_check_local(f, &r, err) < 0 ||
	    sandbox_require(f, &r, PROVIDER_CAN_REVIEW, err) < 0)
		return -1;
	return compare_with_sandbox(f, a, &r, ask->base, ret, err);
}

int stopped_files_open(struct fleet *f, struct arena *a, const struct sandbox_record *r,
                       struct stopped_files *ret, struct error *err)
{
	struct file_review *review = ARENA_NEW(a, struct file_review);
	struct file_comparison q;

	if (r->actual != SANDBOX_STOPPED)
		return refuse_state(r, "read while it is stopped", err);
	if (provider_require(f->provider, PROVIDER_CAN_REVIEW, err) < 0 ||
	    provider_require(f->provider, PROVIDER_CAN_FILES, err) < 0 ||
	    sandbox_check_local(f, r, err) < 0 ||
	    sandbox_require(f, r, PROVIDER_CAN_REVIEW, err) < 0 ||
	    compare_with_sandbox(f, a, r, NULL, &q, err) < 0 ||
	    file_review_open(f, &q.review, review, err) < 0)
		return -1;
	*ret = (struct stopped_files){f->provider, review->id, review};
	return 0;
}

void stopped_files_close(struct stopped_files *s)
{
	if (s->review)
		file_review_close(s->review);
	s->review = NULL;
}

static int check_after(const char *path, const char *after, struct error *err)
{
	size_t size = strlen(path);

	if (!*after || !*path ||
	    (strncmp(after, path, size) == 0 && (after[size] == '/' || after[size] == '\0')))
		return 0;
	return FAIL(err, ERROR_INVALID, "the page begins outside of '%.200s'", path);
}

static int make_listing(struct arena *a, const struct fleet_changes_ask *ask,
                        struct file_review_listing *ret, struct error *err)
{
	*ret = (struct file_review_listing){.limit = ask->limit + 1,
	                                    .deadline = deadline_after(LIST_MS)};
	if (change_path_clean(a, ask->path ? ask->path : "", &ret->path, err) < 0 ||
	    change_path_clean(a, ask->after ? ask->after : "", &ret->after, err) < 0)
		return -1;
	return check_after(ret->path, ret->after, err);
}

static int list_changes(struct fleet *f, struct arena *a, const struct fleet_changes_ask *ask,
                        struct file_review *review, struct fleet_changes *ret, struct error *err)
{
	struct file_review_listing look;
	struct file_review_changes found;
	struct file_comparison q;

	if (make_listing(a, ask, &look, err) < 0 || make_comparison(f, a, ask, &q, err) < 0 ||
	    file_review_open(f, &q.review, review, err) < 0)
		return -1;
	if (file_review_list(review, a, &look, &found, err) < 0)
		return FAIL_CONTEXT(err, "changes of '%s'", q.name);
	*ret = (struct fleet_changes){.items = found.items,
	                              .count = found.count,
	                              .is_more = found.count > ask->limit,
	                              .base = q.is_on_template ? TEMPLATE_BASE : q.review.base};
	if (ret->is_more)
		ret->count = ask->limit;
	return 0;
}

int fleet_changes(struct fleet *fleet, struct arena *a, const struct fleet_changes_ask *ask,
                  struct fleet_changes *ret, struct error *err)
{
	AUTO(file_review_close) struct file_review review = {0};

	return list_changes(fleet, a, ask, &review, ret, err);
}

int fleet_diff(struct fleet *fleet, struct arena *a, const struct fleet_changes_ask *ask,
               struct fleet_changes *ret, struct error *err)
{
	AUTO(file_review_close) struct file_review review = {0};
	struct fleet_changes found;
	size_t bytes = 0, i;

	if (list_changes(fleet, a, ask, &review, &found, err) < 0)
		return -1;
	found.diffs = ARENA_ARRAY(a, struct span, found.count + 1);
	for (i = 0; i < found.count && bytes <= FLEET_DIFF_BYTES; i++) {
		if (file_review_diff(&review, a, &found.items[i], &found.diffs[i], err) < 0)
			return -1;
		bytes += found.diffs[i].size;
	}
	found.is_more |= i < found.count;
	found.count = i;
	*ret = found;
	return 0;
}

/* The target of a revert: the sandbox's own agent while it runs, so that nothing changes behind its
 * kernel; else the agent of the review, which has the files at a folder. */
struct revert_target {
	struct operation *op;
	struct file_review review;
	const char *id, *root;
	struct mount_list mounts; /* volumes that lie over the files */
	int64_t deadline;
};

static bool is_below(const char *path, const char *folder)
{
	size_t size = strlen(folder);

	return strncmp(path, folder, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

static int check_special(const struct sandbox_change *c, struct error *err)
{
	uint32_t was = c->sides[0].mode;

	if (was && !S_ISREG(was) && !S_ISDIR(was) && !S_ISLNK(was))
		return FAIL(err, ERROR_UNSUPPORTED, "'%.150s' was a %s, which cannot be made again",
		            c->path, change_type_name(was));
	if (was && c->is_cut)
		return FAIL(err, ERROR_LIMIT, "'%.150s' is too deep down", c->path);
	return 0;
}

/* Files on a volume are not part of the layers and stay. Each start creates the mount point. */
static bool is_on_volume(const struct revert_target *t, const struct sandbox_change *c)
{
	for (size_t i = 0; i < t->mounts.count; i++)
		if (is_below(c->path, t->mounts.items[i].path + 1))
			return true;
	return false;
}

static int check_volumes(const struct revert_target *t, const struct sandbox_change *c,
                         struct error *err)
{
	if (is_on_volume(t, c) && c->kind != CHANGE_ADDED)
		return FAIL(err, ERROR_CONFLICT, "a volume lies over '%.150s': detach it first",
		            c->path);
	if (c->kind != CHANGE_ADDED && c->kind != CHANGE_RETYPED)
		return 0;
	for (size_t i = 0; i < t->mounts.count; i++) {
		const char *place = t->mounts.items[i].path;

		if (is_below(place + 1, c->path) && strcmp(place + 1, c->path) != 0)
			return FAIL(err, ERROR_CONFLICT,
			            "a volume lies at '%.100s', in '%.100s': detach it first",
			            place, c->path);
	}
	return 0;
}

/* Checks everything before anything is changed. */
static int check_changes(const struct revert_target *t, const struct file_review_changes *found,
                         struct error *err)
{
	uint64_t bytes = 0;

	if (found->count > REVERT_ENTRIES_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %d changes: revert its parts",
		            REVERT_ENTRIES_MAX);
	for (size_t i = 0; i < found->count; i++) {
		const struct sandbox_change *c = &found->items[i];

		if (check_special(c, err) < 0 || check_volumes(t, c, err) < 0)
			return -1;
		bytes += c->sides[0].size;
	}
	if (bytes > REVERT_BYTES_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %llu bytes: restore a snapshot instead",
		            (unsigned long long)REVERT_BYTES_MAX);
	return 0;
}

/* Removes entries that were added or changed their type, with their contents. */
static int remove_added(const struct revert_target *t, const struct file_review_changes *found,
                        unsigned *ret, struct error *err)
{
	AUTO(agent_reader_done) struct agent_reader agent;
	struct agent_path m = {.root = t->root,
	                       .flags = AGENT_PATH_BENEATH | AGENT_PATH_RECURSIVE |
	                                AGENT_PATH_MAY_EXIST};
	const struct compute_request remove = {AGENT_REMOVE, agent_path_shape, &m, NULL};
	const char *last = NULL;

	agent_reader_init(&agent, t->review.fleet->provider, t->id,
	                  &(struct agent_limits){.deadline = t->deadline});
	for (size_t i = 0; i < found->count; i++) {
		const struct sandbox_change *c = &found->items[i];

		if ((c->kind != CHANGE_ADDED && c->kind != CHANGE_RETYPED) || is_on_volume(t, c))
			continue;
		++*ret;
		if (last && is_below(c->path, last))
			continue;
		m.path = last = c->path;
		if (agent_reader_ask(&agent, &remove, err) < 0 ||
		    agent_reader_expect(&agent, AGENT_DONE, err) < 0)
			return -1;
	}
	return 0;
}

/* Frames of DATA up to DONE, which is DATA_END to the other side. */
static int copy_archive(struct agent_reader *from, struct agent_reader *to, struct error *err)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);

	while (!from->has_ended) {
		if (agent_reader_next(from, err) < 0)
			return -1;
		if (from->has_ended)
			break;
		buf_reset(&frame);
		wire_add_frame(&frame, AGENT_DATA, buf_span(&from->payload));
		if (agent_reader_send(to, buf_span(&frame), err) < 0)
			return -1;
	}
	buf_reset(&frame);
	wire_add_frame(&frame, AGENT_DATA_END, (struct span){NULL, 0});
	if (agent_reader_send(to, buf_span(&frame), err) < 0)
		return -1;
	return agent_reader_expect(to, AGENT_DONE, err);
}

static int begin_archive(struct agent_reader *r, uint16_t type, const struct agent_path *path,
                         struct error *err)
{
	const struct compute_request request = {type, agent_path_shape, path, NULL};

	if (agent_reader_ask(r, &request, err) < 0)
		return -1;
	return agent_reader_expect(r, AGENT_READY, err);
}

static int restore_files(const struct revert_target *t, const char *path, struct error *err)
{
	const struct agent_limits limits = {.deadline = t->deadline};
	const struct agent_path base = {.root = PROVIDER_REVIEW_PATH, .path = path, .target = ""};
	const struct agent_path root = {
	        .root = t->root, .path = "", .flags = AGENT_PATH_BENEATH | AGENT_PATH_OWNERS};
	AUTO(agent_reader_done) struct agent_reader from;
	AUTO(agent_reader_done) struct agent_reader to;

	agent_reader_init(&from, t->review.fleet->provider, t->review.id, &limits);
	agent_reader_init(&to, t->review.fleet->provider, t->id, &limits);
	if (begin_archive(&from, AGENT_TAR_BASE, &base, err) < 0 ||
	    begin_archive(&to, AGENT_TAR_IN, &root, err) < 0)
		return -1;
	return copy_archive(&from, &to, err);
}

static unsigned count_before(const struct file_review_changes *found)
{
	unsigned count = 0;

	for (size_t i = 0; i < found->count; i++)
		count += found->items[i].kind != CHANGE_ADDED;
	return count;
}

static int revert_path(struct revert_target *t, const char *path, struct fleet_reverted *ret,
                       struct error *err)
{
	struct file_review_listing ask = {
	        .after = "", .limit = REVERT_ENTRIES_MAX + 1, .deadline = t->deadline};
	struct file_review_changes found;
	unsigned before;

	if (change_path_clean(t->op->arena, path, &ask.path, err) < 0 ||
	    file_review_list(&t->review, t->op->arena, &ask, &found, err) < 0 ||
	    check_changes(t, &found, err) < 0 || remove_added(t, &found, &ret->removed, err) < 0)
		return -1;
	fault_point("api", "revert-removed");
	before = count_before(&found);
	if (before > 0 && restore_files(t, ask.path, err) < 0)
		return -1;
	ret->restored = before;
	fault_point("api", "revert-restored");
	return 0;
}

static int revert_paths(struct operation *op, const struct fleet_revert *request,
                        struct fleet_reverted *ret, struct error *err)
{
	struct revert_target t = {.op = op, .deadline = deadline_after(REVERT_MS)};
	struct file_comparison q;

	if (op->record.actual == SANDBOX_PAUSED && lifecycle_resume(op, err) < 0)
		return -1;
	if (compare_with_sandbox(op->fleet, op->arena, &op->record, request->base, &q, err) < 0 ||
	    store_mounts_of_sandbox(op->fleet->store, op->arena, op->record.id, &t.mounts, err) < 0)
		return -1;
	q.review.writes = op->record.actual == SANDBOX_STOPPED;
	if (file_review_open(op->fleet, &q.review, &t.review, err) < 0)
		return -1;
	t.id = q.review.writes ? t.review.id : op->record.id;
	t.root = q.review.writes ? PROVIDER_REVIEW_PATH "/" AGENT_TREE_NOW : "/";
	for (size_t i = 0; i < request->count; i++) {
		ret[i] = (struct fleet_reverted){.path = request->paths[i]};
		if (revert_path(&t, request->paths[i], &ret[i], &ret[i].err) < 0 &&
		    ret[i].err.code == ERROR_NONE)
			error_set(&ret[i].err, ERROR_SYSTEM, 0, HERE, "failed");
	}
	file_review_close(&t.review);
	return 0;
}

int fleet_revert(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                 const struct fleet_revert *request, struct fleet_reverted *ret, struct error *err)
{
	AUTO(operation_end) struct operation op = {0};

	if (provider_require(fleet->provider, PROVIDER_CAN_REVIEW, err) < 0 ||
	    provider_require(fleet->provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	if (request->count < 1 || request->count > FLEET_REVERT_MAX)
		return FAIL(err, ERROR_INVALID, "%zu paths: 1 to %d can be reverted at once",
		            request->count, FLEET_REVERT_MAX);
	if (operation_find_and_begin(fleet, a, ref, &op, err) < 0 ||
	    sandbox_require(fleet, &op.record, PROVIDER_CAN_REVIEW, err) < 0)
		return -1;
	return revert_paths(&op, request, ret, err);
}
