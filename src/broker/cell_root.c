/* SPDX-License-Identifier: Apache-2.0 */
/* The overlay that a cell has before anybody asks: made on a guess, and put away when it was a
 * wrong one. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "broker/cell.h"
#include "broker/snapshot.h"

bool cell_has_root(const struct cell *cell, const struct cell_guess *guess)
{
	return cell->root_fd >= 0 && cell->template_changes == cell->pool->template_changes &&
	       strcmp(cell->root_template, guess->template_name) == 0 &&
	       chain_equals(&cell->root_chain, guess->chain);
}

void cell_let_go_of_root(struct cell *cell)
{
	if (cell->root_fd >= 0)
		cells_let_go(cell->pool, TAKE_FD(cell->root_fd));
}

int cell_drop_root(struct cell *cell, struct error *err)
{
	const struct chain none = {.count = 0};
	const struct snapshot_folder empty = {.chain = &none, .like = -1};
	const struct host *host = cell->pool->host;
	char name[GROUP_NAME_SIZE];

	if (cell->root_fd < 0)
		return 0;
	cell_let_go_of_root(cell);
	host_group_name(cell->slot, name);
	if (host_trash(host, FOLDER_CELLS, name, err) < 0)
		return -1;
	return snapshot_make_folder(host, FOLDER_CELLS, name, &empty, err);
}

void cells_guess(struct cell_pool *pool, const struct cell_guess *guess)
{
	(void)snprintf(pool->likely_template, sizeof(pool->likely_template), "%s",
	               guess->template_name);
	pool->likely_chain.count = 0;
	if (guess->chain)
		pool->likely_chain = *guess->chain;
	pool->likely_limits = *guess->limits;
	/* A group that was in the background does not come back: a guess puts none there. */
	pool->likely_limits.background = false;
}

/* A snapshot's files are mostly wanted once, and cells that are made for them are of no use to
 * others. */
void cells_note(struct cell_pool *pool, const struct cell_guess *asked)
{
	bool is_likely = chain_equals(asked->chain, &pool->asked_chain);

	pool->asked_chain.count = 0;
	if (asked->chain)
		pool->asked_chain = *asked->chain;
	if (is_likely || pool->asked_chain.count == 0)
		cells_guess(pool, asked);
}

static int make_root(struct cell *cell, const struct cell_guess *guess, struct error *err)
{
	struct cell_pool *pool = cell->pool;
	char name[GROUP_NAME_SIZE];
	const struct root_options options = {.template_name = guess->template_name,
	                                     .chain = guess->chain,
	                                     .upper_fd = pool->host->folders[FOLDER_CELLS],
	                                     .upper_name = name,
	                                     .ids_fd = cell->ids_fd,
	                                     .stored_fd = cell->stored_fd,
	                                     .let_go = cells_let_go,
	                                     .context = pool};

	host_group_name(cell->slot, name);
	if (cell_drop_root(cell, err) < 0 ||
	    host_root_open(pool->host, &options, &cell->root_fd, err) < 0)
		return -1;
	(void)snprintf(cell->root_template, sizeof(cell->root_template), "%s",
	               guess->template_name);
	cell->root_chain.count = 0;
	if (guess->chain)
		cell->root_chain = *guess->chain;
	cell->template_changes = pool->template_changes;
	return 0;
}

void cells_let_go(void *context, int layer_fd)
{
	struct cell_pool *pool = context;

	pool->on_dead(pool->context, &(struct remains){SLOT_NONE, layer_fd, -1});
}

static int prepare_root(struct cell *cell, const struct cell_guess *guess, struct error *err)
{
	if (!guess)
		return cell_drop_root(cell, err);
	return cell_has_root(cell, guess) ? 0 : make_root(cell, guess, err);
}

void cells_expect(struct cell_pool *pool, enum cell_kind kind, const struct cell_guess *guess)
{
	struct error err = {0};
	struct cell *cell;

	/* A disk of its own is only made when its size is known. */
	if (pool->host->can_limit_disk)
		return;
	cell = cells_take(pool, kind, guess);
	if (!cell)
		return;
	if (prepare_root(cell, guess, &err) < 0)
		log_debug("a cell is not made ready for a fork", FAILURE(&err));
	list_append(&pool->ready[kind], &cell->item);
	pool->ready_count[kind]++;
}
