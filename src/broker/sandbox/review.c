/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/sandbox/review.h"

#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "broker/layers/folder.h"
#include "broker/layers/root.h"
#include "broker/layers/stacks.h"
#include "broker/sandbox/sandboxes.h"
#include "wire/agent_files.h"
#include "wire/broker_sandbox.h"

enum { BASE, NOW, OVER_BASE, OVER_NOW };
const char *const review_paths[REVIEW_TREES] = {
        [BASE] = BROKER_REVIEW_PATH "/" AGENT_TREE_BASE,
        [NOW] = BROKER_REVIEW_PATH "/" AGENT_TREE_NOW,
        [OVER_BASE] = BROKER_REVIEW_PATH "/" AGENT_TREE_OVER_0,
        [OVER_NOW] = BROKER_REVIEW_PATH "/" AGENT_TREE_OVER_1,
};

static int take_id(struct span from, char ret[ID_SIZE + 1])
{
	if (from.size != ID_SIZE)
		return -1;
	memcpy(ret, from.data, ID_SIZE);
	ret[ID_SIZE] = '\0';
	return id_is_valid(ret) ? 0 : -1;
}

int review_parse(const char *text, struct layer_review *ret, struct error *err)
{
	struct span rest = span_of(text), subject, base, mode;
	struct layer_review r = {.base = ""};

	if (!span_split(&rest, ':', &subject) || !span_split(&rest, ':', &base) ||
	    !span_split(&rest, ':', &mode) || take_id(subject, r.subject) < 0 ||
	    (base.size > 0 && take_id(base, r.base) < 0))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not SUBJECT:BASE:ro:TEMPLATE", text);
	r.writes = span_equals_text(mode, "rw");
	if (!r.writes && !span_equals_text(mode, "ro"))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not SUBJECT:BASE:ro:TEMPLATE", text);
	if (check_template_name(rest.data, err) < 0)
		return -1;
	(void)snprintf(r.template_name, sizeof(r.template_name), "%s", rest.data);
	*ret = r;
	return 0;
}

static int find_subject(struct layer_review *r, const struct sandboxes *b, struct error *err)
{
	const struct layer_stack *below = layer_stacks_of(b->stacks, r->subject);
	struct error ignored = {0};

	if (!r->writes && layer_stacks_find(b->stacks, r->subject, &r->now_stack, &ignored) == 0)
		return 0;
	if (layer_folder_check(b->host, r->subject, err) < 0)
		return -1;
	if (r->writes && sandboxes_find(b, r->subject))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' runs", r->subject);
	r->is_sandbox = true;
	if (below)
		r->now_stack = *below;
	return 0;
}

int review_begin(struct layer_review *r, struct sandboxes *b, const char *sandbox_id,
                 struct error *err)
{
	if (find_subject(r, b, err) < 0 ||
	    (*r->base && layer_stacks_find(b->stacks, r->base, &r->base_stack, err) < 0))
		return -1;
	layer_stacks_set_role(b->stacks, sandbox_id, LAYER_STACK_NOW, &r->now_stack);
	layer_stacks_set_role(b->stacks, sandbox_id, LAYER_STACK_BASE, &r->base_stack);
	return 0;
}

void review_end(struct layer_stacks *c, const char *sandbox_id)
{
	layer_stacks_set_role(c, sandbox_id, LAYER_STACK_NOW, NULL);
	layer_stacks_set_role(c, sandbox_id, LAYER_STACK_BASE, NULL);
}

/* Counts from the template up. */
static unsigned count_common(const struct layer_stack *a, const struct layer_stack *b)
{
	unsigned count = 0;

	while (count < a->count && count < b->count &&
	       strcmp(a->ids[a->count - 1 - count], b->ids[b->count - 1 - count]) == 0)
		count++;
	return count;
}

static struct layer_stack upper_part(const struct layer_stack *stack, unsigned common)
{
	struct layer_stack upper = *stack;

	upper.count -= common;
	return upper;
}

struct review_opening {
	const struct layer_review *review;
	const struct host *host;
	struct root_options root;
	struct review_trees *ret;
};

/* Opens a tree that is read-only, without devices, set-uid programs and execution. */
static int open_tree_at(const struct review_opening *o, unsigned tree, const char *template_name,
                        const struct layer_stack *stack, struct error *err)
{
	struct root_options root = o->root;

	root.attributes |= MOUNT_ATTR_RDONLY;
	root.template_name = template_name;
	root.stack = stack;
	if (tree == BASE || tree == OVER_BASE)
		root.upper_name = NULL;
	if (!root.upper_name && !template_name && stack->count == 0)
		return 0;
	return host_tree_open(o->host, &root, &o->ret->fds[tree], err);
}

static int open_to_write(const struct review_opening *o, struct error *err)
{
	struct root_options root = o->root;
	struct root_mounts mounts;

	root.template_name = o->review->template_name;
	root.stack = &o->review->now_stack;
	if (host_root_open(o->host, &root, &mounts, err) < 0)
		return -1;
	o->ret->fds[NOW] = mounts.root;
	return 0;
}

int review_open(const struct layer_review *r, const struct sandboxes *b,
                const struct review_maps *maps, struct review_trees *ret, struct error *err)
{
	unsigned common = count_common(&r->now_stack, &r->base_stack);
	struct layer_stack over_now = upper_part(&r->now_stack, common),
	                   over_base = upper_part(&r->base_stack, common);
	const struct review_opening o = {
	        .review = r,
	        .host = b->host,
	        .root = {.upper_fd = -1,
	                 .upper_folder = FOLDER_SANDBOXES,
	                 .upper_name = r->is_sandbox ? r->subject : NULL,
	                 .ids_fd = maps->ids_fd,
	                 .stored_fd = maps->stored_fd,
	                 .attributes = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC},
	        .ret = ret,
	};
	int status;

	if (r->writes && sandboxes_find(b, r->subject))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' runs", r->subject);
	status = open_tree_at(&o, BASE, r->template_name, &r->base_stack, err);
	if (status == 0)
		status = open_tree_at(&o, OVER_BASE, NULL, &over_base, err);
	if (status == 0)
		status = open_tree_at(&o, OVER_NOW, NULL, &over_now, err);
	if (status == 0)
		status = r->writes ? open_to_write(&o, err)
		                   : open_tree_at(&o, NOW, r->template_name, &r->now_stack, err);
	return status < 0 ? FAIL_CONTEXT(err, "open the layers of '%s'", r->subject) : 0;
}

void review_close(struct review_trees *t)
{
	for (unsigned i = 0; i < REVIEW_TREES; i++)
		fd_forget(&t->fds[i]);
}
