/* SPDX-License-Identifier: Apache-2.0 */
/* The overlay that a prewarmed sandbox has before a create: made on a guess, and replaced when the
 * guess was wrong. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "broker/layers/folder.h"
#include "broker/prewarm/pool.h"

bool prewarm_has_root(const struct prewarm *prewarm, const struct prewarm_guess *guess)
{
	return prewarm->root.root >= 0 &&
	       prewarm->template_changes == prewarm->pool->template_changes &&
	       strcmp(prewarm->root_template, guess->template_name) == 0 &&
	       layer_stack_equals(&prewarm->root_stack, guess->stack);
}

void prewarm_let_go_of_root(struct prewarm *prewarm)
{
	if (prewarm->root.root >= 0)
		prewarm_pool_let_go(prewarm->pool, TAKE_FD(prewarm->root.root));
	for (unsigned i = 0; i < LAYER_COUNT; i++)
		if (prewarm->root.layers[i] >= 0)
			prewarm_pool_let_go(prewarm->pool, TAKE_FD(prewarm->root.layers[i]));
}

int prewarm_drop_root(struct prewarm *prewarm, struct error *err)
{
	const struct layer_stack none = {.count = 0};
	const struct layer_folder empty = {.stack = &none, .like = -1};
	const struct host *host = prewarm->pool->host;
	char name[GROUP_NAME_SIZE];

	if (prewarm->root.root < 0)
		return 0;
	prewarm_let_go_of_root(prewarm);
	host_group_name(prewarm->slot, name);
	if (host_trash(host, FOLDER_PREWARMS, name, err) < 0)
		return -1;
	return layer_folder_make(host, FOLDER_PREWARMS, name, &empty, err);
}

void prewarm_pool_guess(struct prewarm_pool *pool, const struct prewarm_guess *guess)
{
	(void)snprintf(pool->likely_template, sizeof(pool->likely_template), "%s",
	               guess->template_name);
	pool->likely_stack.count = 0;
	if (guess->stack)
		pool->likely_stack = *guess->stack;
	pool->likely_limits = *guess->limits;
	/* A cgroup that was in the background cannot leave it, so a guess puts none there. */
	pool->likely_limits.background = false;
}

/* The files of a snapshot are mostly wanted once, and a root with them is useless for other
 * creates. */
void prewarm_pool_note(struct prewarm_pool *pool, const struct prewarm_guess *asked)
{
	bool is_likely = layer_stack_equals(asked->stack, &pool->asked_stack);

	pool->asked_stack.count = 0;
	if (asked->stack)
		pool->asked_stack = *asked->stack;
	if (is_likely || pool->asked_stack.count == 0)
		prewarm_pool_guess(pool, asked);
}

static int make_root(struct prewarm *prewarm, const struct prewarm_guess *guess, struct error *err)
{
	struct prewarm_pool *pool = prewarm->pool;
	char name[GROUP_NAME_SIZE];
	const struct root_options options = {
	        .template_name = guess->template_name,
	        .stack = guess->stack,
	        .upper_fd = -1,
	        .upper_folder = FOLDER_PREWARMS,
	        .upper_name = name,
	        .ids_fd = prewarm->ids_fd,
	        .stored_fd = prewarm->stored_fd,
	        .layers = host_root_layers(pool->host, guess->template_name)};

	host_group_name(prewarm->slot, name);
	if (prewarm_drop_root(prewarm, err) < 0 ||
	    host_root_open(pool->host, &options, &prewarm->root, err) < 0)
		return -1;
	(void)snprintf(prewarm->root_template, sizeof(prewarm->root_template), "%s",
	               guess->template_name);
	prewarm->root_stack.count = 0;
	if (guess->stack)
		prewarm->root_stack = *guess->stack;
	prewarm->template_changes = pool->template_changes;
	return 0;
}

static int prepare_root(struct prewarm *prewarm, const struct prewarm_guess *guess,
                        struct error *err)
{
	if (!guess)
		return prewarm_drop_root(prewarm, err);
	return prewarm_has_root(prewarm, guess) ? 0 : make_root(prewarm, guess, err);
}

void prewarm_pool_prefetch_root(struct prewarm_pool *pool, enum prewarm_kind kind,
                                const struct prewarm_guess *guess)
{
	struct error err = {0};
	struct prewarm *prewarm;

	/* A sandbox's own disk is made when its size is known. */
	if (pool->host->can_limit_disk)
		return;
	prewarm = prewarm_pool_take(pool, kind, guess);
	if (!prewarm)
		return;
	if (prepare_root(prewarm, guess, &err) < 0)
		log_debug("the root for an expected fork is not mounted", FAILURE(&err));
	list_append(&pool->ready[kind], &prewarm->item);
	pool->ready_count[kind]++;
}
