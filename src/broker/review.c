/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/review.h"

#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/check.h"
#include "broker/snapshot.h"

enum { BASE, NOW, OVER_BASE, OVER_NOW };
const char *const review_paths[REVIEW_TREES] = {
        [BASE] = BROKER_REVIEW_PATH "/" AGENT_TREE_BASE,
        [NOW] = BROKER_REVIEW_PATH "/" AGENT_TREE_NOW,
        [OVER_BASE] = BROKER_REVIEW_PATH "/" AGENT_TREE_OVER_0,
        [OVER_NOW] = BROKER_REVIEW_PATH "/" AGENT_TREE_OVER_1,
};

/* ---- the request ---- */

static int take_id(struct span from, char ret[ID_SIZE + 1])
{
	if (from.size != ID_SIZE)
		return -1;
	memcpy(ret, from.data, ID_SIZE);
	ret[ID_SIZE] = '\0';
	return id_is_valid(ret) ? 0 : -1;
}

int review_parse(const char *text, struct review *ret, struct error *err)
{
	struct span rest = span_of(text), subject, base, mode;
	struct review r = {.base = ""};

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

/* ---- which layers ---- */

static int find_subject(struct review *r, const struct boxes *b, struct error *err)
{
	const struct chain *below = chains_of(b->chains, r->subject);
	struct error ignored = {0};

	if (!r->writes && chains_find(b->chains, r->subject, &r->now_chain, &ignored) == 0)
		return 0;
	if (snapshot_check_files(b->host, r->subject, err) < 0)
		return -1;
	if (r->writes && boxes_find(b, r->subject))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' runs", r->subject);
	r->is_sandbox = true;
	if (below)
		r->now_chain = *below;
	return 0;
}

int review_begin(struct review *r, struct boxes *b, const char *box, struct error *err)
{
	if (find_subject(r, b, err) < 0 ||
	    (*r->base && chains_find(b->chains, r->base, &r->base_chain, err) < 0))
		return -1;
	chains_set_role(b->chains, box, CHAIN_NOW, &r->now_chain);
	chains_set_role(b->chains, box, CHAIN_BASE, &r->base_chain);
	return 0;
}

void review_end(struct chains *c, const char *box)
{
	chains_set_role(c, box, CHAIN_NOW, NULL);
	chains_set_role(c, box, CHAIN_BASE, NULL);
}

/* ---- the trees ---- */

/* From the template up. */
static unsigned count_common(const struct chain *a, const struct chain *b)
{
	unsigned count = 0;

	while (count < a->count && count < b->count &&
	       strcmp(a->ids[a->count - 1 - count], b->ids[b->count - 1 - count]) == 0)
		count++;
	return count;
}

static struct chain cut(const struct chain *chain, unsigned common)
{
	struct chain cut = *chain;

	cut.count -= common;
	return cut;
}

struct opening {
	const struct review *review;
	const struct host *host;
	struct root_options root;
	struct review_trees *ret;
};

/* What nobody may write to, run or gain by. */
static int open_tree_at(const struct opening *o, unsigned tree, const char *template_name,
                        const struct chain *chain, struct error *err)
{
	const struct layer_options options = {.attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV |
	                                                    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
	                                      .map_fd = -1};
	struct root_options root = o->root;

	root.template_name = template_name;
	root.chain = chain;
	if (tree == BASE || tree == OVER_BASE)
		root.upper_name = NULL;
	if (!root.upper_name && !template_name && chain->count == 0)
		return 0;
	if (host_tree_open(o->host, &root, &o->ret->fds[tree], err) < 0)
		return -1;
	return layer_set(o->ret->fds[tree], &options, err);
}

static int open_to_write(const struct opening *o, struct error *err)
{
	const struct layer_options options = {.attributes = MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID |
	                                                    MOUNT_ATTR_NOEXEC,
	                                      .map_fd = -1};
	struct root_options root = o->root;

	root.template_name = o->review->template_name;
	root.chain = &o->review->now_chain;
	if (host_root_open(o->host, &root, &o->ret->fds[NOW], err) < 0)
		return -1;
	return layer_set(o->ret->fds[NOW], &options, err);
}

int review_open(const struct review *r, const struct boxes *b, const struct review_maps *maps,
                struct review_trees *ret, struct error *err)
{
	unsigned common = count_common(&r->now_chain, &r->base_chain);
	struct chain over_now = cut(&r->now_chain, common), over_base = cut(&r->base_chain, common);
	const struct opening o = {
	        .review = r,
	        .host = b->host,
	        .root = {.upper_fd = b->host->folders[FOLDER_SANDBOXES],
	                 .upper_name = r->is_sandbox ? r->subject : NULL,
	                 .ids_fd = maps->ids_fd,
	                 .stored_fd = maps->stored_fd},
	        .ret = ret,
	};
	int status;

	if (r->writes && boxes_find(b, r->subject))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' runs", r->subject);
	status = open_tree_at(&o, BASE, r->template_name, &r->base_chain, err);
	if (status == 0)
		status = open_tree_at(&o, OVER_BASE, NULL, &over_base, err);
	if (status == 0)
		status = open_tree_at(&o, OVER_NOW, NULL, &over_now, err);
	if (status == 0)
		status = r->writes ? open_to_write(&o, err)
		                   : open_tree_at(&o, NOW, r->template_name, &r->now_chain, err);
	return status < 0 ? FAIL_CONTEXT(err, "open the layers of '%s'", r->subject) : 0;
}

void review_close(struct review_trees *t)
{
	for (unsigned i = 0; i < REVIEW_TREES; i++)
		fd_forget(&t->fds[i]);
}
