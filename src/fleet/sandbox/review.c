/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/sandbox/review.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "fleet/core/cache.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/gate.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "provider/provider.h"
#include "provider/snapshots.h"
#include "sandbox/change.h"
#include "wire/agent_files.h"

#define DIFF_MS 10000
#define DIFF_FILE_MAX (1024 * 1024) /* bytes of a file that is compared by lines */
#define DIFF_TEXT_MAX (4 * 1024 * 1024)

/* Files that are put back are written within it. */
#define WRITE_DISK_MB (1024 * 1024)
static const struct sandbox_resources resources = {
        .cpu = 1, .memory_mb = 256, .disk_mb = 64, .pids = 64};

static void unpin_review(struct file_review *r)
{
	cache_set_queued(r->fleet->cache, r->entry, false);
	cache_unpin(r->fleet->cache, r->entry);
	r->fleet = NULL;
}

int file_review_open(struct fleet *f, const struct sandbox_review *what, struct file_review *ret,
                     struct error *err)
{
	struct id id = id_new();
	struct file_review r = {.fleet = f, .entry = cache_pin(f->cache, id.text)};
	struct sandbox_spec spec = {.id = r.id,
	                            .hostname = "review",
	                            .template_dir = "host",
	                            .resources = resources,
	                            .network = SANDBOX_NETWORK_BLOCKED,
	                            .review = what};
	struct provider_created created;

	memcpy(r.id, id.text, sizeof(r.id));
	if (what->writes)
		spec.resources.disk_mb = WRITE_DISK_MB;
	/* No sweep takes it for an orphan. */
	cache_set_queued(f->cache, r.entry, true);
	*ret = r;
	/* It has no row by which it could be ended: it is inside until it is closed. */
	if (!gate_enter(f->gate, err)) {
		unpin_review(ret);
		return FAIL_CONTEXT(err, "look at the files");
	}
	if (f->ops->create(f->provider, &spec, deadline_after(CALL_TIMEOUT_MS), &created, err) ==
	    0) {
		fault_point("api", "review-open");
		return 0;
	}
	file_review_close(ret);
	return FAIL_CONTEXT(err, "look at the files");
}

void file_review_close(struct file_review *r)
{
	struct fleet *f = r->fleet;
	struct error err = {0};

	if (!f)
		return;
	if (f->ops->destroy(f->provider, r->id, deadline_after(CALL_TIMEOUT_MS), &err) < 0)
		log_warning("a review's sandbox is left for the next sweep", TEXT("sandbox", r->id),
		            FAILURE(&err));
	unpin_review(r);
	gate_leave(f->gate);
}

struct collecting {
	struct arena *arena;
	struct sandbox_change *items;
	size_t count, capacity;
};

/* The program that reads hostile files is trusted no more than the files. */
static int collect_change(void *context, const void *reply, struct error *err)
{
	static const enum change_kind change_kinds[AGENT_DIFFERENCE_KIND_COUNT] = {
	        [AGENT_ADDED] = CHANGE_ADDED,           [AGENT_DELETED] = CHANGE_DELETED,
	        [AGENT_CONTENT] = CHANGE_MODIFIED,      [AGENT_RETYPED] = CHANGE_RETYPED,
	        [AGENT_ATTRIBUTES] = CHANGE_ATTRIBUTES,
	};
	const struct agent_difference *d = reply;
	struct collecting *c = context;
	struct sandbox_change change = {.path = d->path, .is_cut = d->flags & AGENT_IS_CUT};
	const char *clean;

	if (d->kind >= AGENT_DIFFERENCE_KIND_COUNT ||
	    change_path_clean(c->arena, d->path, &clean, err) < 0 || !*clean ||
	    strcmp(clean, d->path) != 0)
		return FAIL(err, ERROR_SYSTEM, "the agent told of a change that is none");
	change.kind = change_kinds[d->kind];
	for (unsigned i = 0; i < 2; i++)
		change.sides[i] = (struct change_side){d->mode[i], d->uid[i], d->gid[i], d->size[i],
		                                       d->link[i]};
	if ((change.kind == CHANGE_ADDED) != (d->mode[0] == 0) ||
	    (change.kind == CHANGE_DELETED) != (d->mode[1] == 0))
		return FAIL(err, ERROR_SYSTEM, "the agent told of a change that is none");
	c->items = arena_grow(c->arena, c->items, c->count, &c->capacity, sizeof(*c->items));
	c->items[c->count++] = change;
	return 0;
}

int file_review_list(struct file_review *r, struct arena *a, const struct file_review_listing *ask,
                     struct file_review_changes *ret, struct error *err)
{
	const struct agent_path message = {.root = PROVIDER_REVIEW_PATH,
	                                   .path = ask->path,
	                                   .target = ask->after,
	                                   .size_max = ask->limit};
	struct collecting collecting = {.arena = a};
	struct agent_difference reply;
	const struct compute_call call = {
	        .type = AGENT_COMPARE,
	        .shape = agent_path_shape,
	        .message = &message,
	        WIRE_REPLY(AGENT_DIFFERENCE, agent_difference_shape, reply),
	        .on_reply = collect_change,
	        .context = &collecting};

	if (compute_call(r->fleet->provider, r->id, a, &call, ask->deadline, err) < 0)
		return -1;
	*ret = (struct file_review_changes){collecting.items, collecting.count};
	return 0;
}

static const char *diff_operand(struct arena *a, const struct sandbox_change *c, unsigned side)
{
	static const char *const trees[] = {AGENT_TREE_BASE, AGENT_TREE_NOW};

	return c->sides[side].mode == 0
	               ? "/dev/null"
	               : arena_format(a, PROVIDER_REVIEW_PATH "/%s/%s", trees[side], c->path);
}

static int run_diff(struct file_review *r, struct arena *a, const struct sandbox_change *c,
                    struct compute_result *ret, struct error *err)
{
	const char *args[] = {"diff",
	                      "-u",
	                      "--label",
	                      change_label(a, c, 0),
	                      "--label",
	                      change_label(a, c, 1),
	                      "--",
	                      diff_operand(a, c, 0),
	                      diff_operand(a, c, 1),
	                      NULL};
	const char *env[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", NULL};
	const struct agent_exec exec = {.args = args,
	                                .env = env,
	                                .cwd = "/",
	                                .label = "diff",
	                                .flags = AGENT_EXEC_NO_PRIVILEGES,
	                                .timeout_ms = DIFF_MS};
	const struct compute_run run = {
	        .exec = &exec, .out_max = DIFF_TEXT_MAX, .deadline = deadline_after(2 * DIFF_MS)};

	return compute_run(r->fleet->provider, r->id, a, &run, ret, err);
}

static void add_binary(struct buf *out, struct arena *a, const struct sandbox_change *c,
                       const char *what)
{
	const char *labels[2];

	for (unsigned i = 0; i < 2; i++) {
		char *label = arena_text(a, change_label(a, c, i));

		label[strcspn(label, "\t")] = '\0';
		labels[i] = label;
	}
	buf_addf(out, "%s %s and %s differ\n", what, labels[0], labels[1]);
}

static int add_contents(struct file_review *r, struct arena *a, const struct sandbox_change *c,
                        struct buf *out, struct error *err)
{
	struct compute_result result;

	if (c->sides[0].size > DIFF_FILE_MAX || c->sides[1].size > DIFF_FILE_MAX) {
		add_binary(out, a, c, CHANGE_LARGE);
		return 0;
	}
	if (run_diff(r, a, c, &result, err) < 0)
		return FAIL_CONTEXT(err, "compare '%.100s'", c->path);
	if (result.process.timed_out || result.truncated[0])
		add_binary(out, a, c, CHANGE_LARGE);
	else if (span_starts_with(result.out[0], "--- "))
		buf_add_span(out, result.out[0]);
	else if (result.out[0].size > 0)
		add_binary(out, a, c, CHANGE_BINARY);
	else if (result.process.exit_code != 0)
		return FAIL(err, ERROR_SYSTEM, "compare '%.100s': diff: %.200s", c->path,
		            result.out[1].size ? result.out[1].data : "failed");
	return 0;
}

static int add_change(struct file_review *r, struct arena *a, const struct sandbox_change *c,
                      struct buf *out, struct error *err)
{
	uint32_t mode = c->sides[1].mode ? c->sides[1].mode : c->sides[0].mode;

	if (!change_add_head(out, c))
		return 0;
	if (!S_ISLNK(mode))
		return add_contents(r, a, c, out, err);
	change_add_links(out, a, c);
	return 0;
}

int file_review_diff(struct file_review *r, struct arena *a, const struct sandbox_change *change,
                     struct span *ret, struct error *err)
{
	AUTO(buf_done) struct buf out = BUF(2 * DIFF_TEXT_MAX);
	struct sandbox_change parts[2];
	unsigned count = change_split(change, parts);

	for (unsigned i = 0; i < count; i++)
		if (add_change(r, a, &parts[i], &out, err) < 0)
			return -1;
	*ret = (struct span){arena_copy(a, buf_span(&out)), out.size};
	return 0;
}
