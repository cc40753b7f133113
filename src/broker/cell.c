/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/cell.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "wire/wire.h"

#define FAILURES_MAX 3
/* A descriptor's number tells how many there are. Each sandbox needs three besides. */
#define STORED_KEPT_BELOW 4096
#define REST_MS 20

void cells_init(struct cell_pool *pool, struct host *host, struct events *events,
                struct slots *slots)
{
	*pool = (struct cell_pool){.host = host, .events = events, .slots = slots};
	list_init(&pool->makers);
	list_init(&pool->dead);
	list_init(&pool->rest.item);
	for (unsigned i = 0; i < CELL_KIND_COUNT; i++)
		list_init(&pool->ready[i]);
}

void cell_free(struct cell *cell)
{
	if (!cell)
		return;
	fd_forget(&cell->pidfd);
	fd_forget(&cell->setup_fd);
	fd_forget(&cell->setup_far_fd);
	fd_forget(&cell->ids_fd);
	fd_forget(&cell->stored_fd);
	fd_forget(&cell->mounts_fd);
	fd_forget(&cell->net_fd);
	fd_forget(&cell->root_fd);
	free(cell);
}

int cell_take_stored(struct cell *cell)
{
	return cell->stored_fd < STORED_KEPT_BELOW ? TAKE_FD(cell->stored_fd) : -1;
}

static void kill_cell(struct cell *cell)
{
	struct error ignored = {0};

	if (cell->pidfd >= 0) {
		(void)!pidfd_signal(cell->pidfd, SIGKILL, &ignored);
		(void)waitid(P_PIDFD, (id_t)cell->pidfd, NULL, WEXITED);
	}
}

void cells_keep(struct cell_pool *pool, uint32_t slot)
{
	assert(pool->kept_count < COUNT_OF(pool->kept));
	pool->kept[pool->kept_count++] = slot;
}

static uint32_t take_kept(struct cell_pool *pool)
{
	uint32_t slot;

	if (pool->kept_count == 0)
		return SLOT_NONE;
	slot = pool->kept[0];
	pool->kept_count--;
	memmove(pool->kept, pool->kept + 1, pool->kept_count * sizeof(pool->kept[0]));
	return slot;
}

static void discard(struct cell *cell)
{
	struct cell_pool *pool = cell->pool;
	struct remains remains = {.slot = cell->slot};

	list_remove(&cell->item);
	/* Nobody knows how far its maker came. */
	if (cell->kept != SLOT_NONE)
		cells_keep(pool, cell->kept);
	kill_cell(cell);
	cell_let_go_of_root(cell);
	remains.mounts_fd = TAKE_FD(cell->mounts_fd);
	remains.net_fd = TAKE_FD(cell->net_fd);
	pool->on_dead(pool->context, &remains);
	cell_free(cell);
}

/* An agent whose maker was ended before it told us of it is met in its cgroup, or ends as it is in
 * none yet. */
static void maker_end(struct maker *maker)
{
	struct cell_pool *pool = maker->pool;

	watch_stop(pool->events, &maker->reports);
	job_cancel(&maker->job);
	list_remove(&maker->item);
	pool->maker_count[maker->kind]--;
	for (unsigned i = maker->done; i < maker->count; i++) {
		pool->making_count[maker->kind]--;
		discard(maker->cells[i]);
	}
	fd_forget(&maker->report_fd);
	free(maker);
}

static void discard_dead(struct cell_pool *pool)
{
	LIST_EACH (&pool->dead, item)
		discard(LIST_ENTRY(item, struct cell, item));
}

void cells_close(struct cell_pool *pool)
{
	timer_stop(&pool->rest);
	discard_dead(pool);
	LIST_EACH (&pool->makers, item)
		maker_end(LIST_ENTRY(item, struct maker, item));
	for (unsigned i = 0; i < CELL_KIND_COUNT; i++)
		LIST_EACH (&pool->ready[i], item)
			discard(LIST_ENTRY(item, struct cell, item));
}

enum wish { WISH_GUESS, WISH_NO_ROOT, WISH_ANY };

static bool suits(const struct cell *cell, enum wish wish, const struct cell_guess *guess)
{
	if (wish == WISH_NO_ROOT)
		return cell->root_fd < 0;
	return wish == WISH_ANY || cell_has_root(cell, guess);
}

static struct cell *take_first(struct cell_pool *pool, enum cell_kind kind, enum wish wish,
                               const struct cell_guess *guess)
{
	LIST_EACH (&pool->ready[kind], item) {
		struct cell *cell = LIST_ENTRY(item, struct cell, item);

		if (!suits(cell, wish, guess))
			continue;
		list_remove(&cell->item);
		pool->ready_count[kind]--;
		if (pidfd_is_alive(cell->pidfd))
			return cell;
		log_warning("a cell died while it waited", NUMBER("slot", cell->slot));
		list_append(&pool->dead, &cell->item);
	}
	return NULL;
}

struct cell *cells_take(struct cell_pool *pool, enum cell_kind kind, const struct cell_guess *guess)
{
	struct cell *cell = NULL;

	for (unsigned wish = guess ? WISH_GUESS : WISH_ANY; !cell && wish <= WISH_ANY; wish++)
		cell = take_first(pool, kind, (enum wish)wish, guess);
	return cell;
}

static int take_report(struct maker *maker, struct cell *cell, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(sizeof(struct maker_report) + 1);
	int *const places[] = {&cell->pidfd,     &cell->ids_fd, &cell->stored_fd,
	                       &cell->mounts_fd, &cell->net_fd, &cell->root_fd};
	struct wire_fds fds = {.count = 0};
	struct maker_report report;

	if (wire_receive_packet(maker->report_fd, deadline_in(0), &packet, &fds, err) < 0)
		return FAIL_CONTEXT(err, "maker ended early");
	if (packet.size != sizeof(report)) {
		wire_fds_close(&fds);
		return FAIL(err, ERROR_SYSTEM, "maker's report is malformed");
	}
	memcpy(&report, packet.data, sizeof(report));
	for (unsigned i = 0; i < fds.count && i < COUNT_OF(places); i++)
		*places[i] = fds.fds[i];
	if (report.err.code != ERROR_NONE) {
		*err = report.err;
		return -1;
	}
	cell->pid = report.pid;
	cell->start_time = report.start_time;
	if (!report.limited)
		cell->limits = (struct cgroup_limits){0};
	return 0;
}

/* Without rules there is no network, also for one whose maker has begun with rules. */
static int check_network(const struct cell_pool *pool, enum cell_kind kind, struct error *err)
{
	if (kind != CELL_INTERNET || pool->host->network.usable)
		return 0;
	*err = pool->host->network.problem;
	return -1;
}

/* The next cell is made, or the maker has come to an end. */
static void take_cell(struct maker *maker)
{
	struct cell_pool *pool = maker->pool;
	struct cell *cell = maker->cells[maker->done++];
	enum cell_kind kind = maker->kind;
	struct error err = {0};

	pool->making_count[kind]--;
	fd_forget(&cell->setup_far_fd);
	if (take_report(maker, cell, &err) == 0 && check_network(pool, kind, &err) == 0) {
		cell->made_us = (uint64_t)clock_monotonic_ns() / 1000 - cell->made_us;
		cell->kept = SLOT_NONE;
		pool->failures[kind] = 0;
		pool->ready_count[kind]++;
		list_append(&pool->ready[kind], &cell->item);
	} else {
		pool->failures[kind]++;
		discard(cell);
	}
	pool->on_made(pool->context, kind, &err);
}

static void on_report(struct watch *watch)
{
	struct maker *maker = CONTAINER_OF(watch, struct maker, reports);

	take_cell(maker);
	if (maker->done == maker->count)
		watch_stop(maker->pool->events, watch);
}

static void on_maker_end(struct job *job, int status)
{
	struct maker *maker = CONTAINER_OF(job, struct maker, job);

	(void)status; /* the reports tell more */
	while (maker->done < maker->count)
		take_cell(maker);
	maker_end(maker);
}

static struct cell *cell_new(struct cell_pool *pool, enum cell_kind kind)
{
	struct cell *cell = calloc(1, sizeof(*cell));

	if (!cell)
		abort();
	*cell = (struct cell){.pool = pool,
	                      .kind = kind,
	                      .slot = SLOT_NONE,
	                      .kept = SLOT_NONE,
	                      .pidfd = -1,
	                      .setup_fd = -1,
	                      .setup_far_fd = -1,
	                      .ids_fd = -1,
	                      .stored_fd = -1,
	                      .mounts_fd = -1,
	                      .net_fd = -1,
	                      .root_fd = -1,
	                      .limits = pool->likely_limits,
	                      .template_changes = pool->template_changes,
	                      .made_us = (uint64_t)clock_monotonic_ns() / 1000};
	memcpy(cell->root_template, pool->likely_template, sizeof(cell->root_template));
	cell->root_chain = pool->likely_chain;
	list_init(&cell->item);
	return cell;
}

/* Its number, and the two ends of the conversation with the agent. */
static int add_cell(struct maker *maker, struct error *err)
{
	struct cell *cell = cell_new(maker->pool, maker->kind);
	int setup[2];

	if (slots_take(maker->pool->slots, &cell->slot, err) < 0) {
		cell_free(cell);
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, setup) < 0) {
		slots_release(maker->pool->slots, cell->slot);
		cell_free(cell);
		return FAIL_ERRNO(err, "make a socket pair");
	}
	cell->kept = take_kept(maker->pool);
	cell->setup_fd = setup[0];
	cell->setup_far_fd = setup[1];
	maker->cells[maker->count++] = cell;
	maker->pool->making_count[maker->kind]++;
	return 0;
}

/* Fewer than are wanted are better than none. */
static int add_cells(struct maker *maker, unsigned count, struct error *err)
{
	while (maker->count < count && maker->count < MAKER_BATCH)
		if (add_cell(maker, err) < 0)
			break;
	if (maker->count == 0)
		return -1;
	error_clear(err);
	return 0;
}

static int start_maker(struct maker *maker, struct error *err)
{
	struct events *events = maker->pool->events;
	AUTO_CLOSE int report = -1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	maker->report_fd = pair[1]; /* as the child will see it */
	report = pair[0];
	maker->job.on_end = on_maker_end;
	if (job_start(events, &maker->job, maker_run, maker, err) < 0)
		return -1;
	(void)close(maker->report_fd);
	maker->report_fd = TAKE_FD(report);
	return watch_start(events, &maker->reports, maker->report_fd, err);
}

int cells_make(struct cell_pool *pool, enum cell_kind kind, unsigned count, struct error *err)
{
	struct maker *maker;
	int status;

	if (check_network(pool, kind, err) < 0)
		return -1;
	maker = calloc(1, sizeof(*maker));
	if (!maker)
		abort();
	*maker = (struct maker){.pool = pool,
	                        .kind = kind,
	                        .report_fd = -1,
	                        .reports = {.fd = -1, .on_ready = on_report}};
	list_append(&pool->makers, &maker->item);
	pool->maker_count[kind]++;
	status = add_cells(maker, count, err);
	if (status == 0)
		status = start_maker(maker, err);
	if (status < 0)
		maker_end(maker);
	return status;
}

void cells_forget_template(struct cell_pool *pool, const char *name)
{
	if (strcmp(pool->likely_template, name) == 0)
		pool->likely_template[0] = '\0';
	pool->template_changes++;
}

/* How many cells are to be begun now: as many as are missing, because a maker mostly waits for the
 * kernel. While at least half is there, the refill waits until the request that took one, and its
 * first command, have the processors for themselves. */
static unsigned wanted_cells(const struct cell_pool *pool, unsigned kind, bool *later)
{
	unsigned full = pool->host->options.cells + pool->wanted_more[kind];
	unsigned coming = pool->ready_count[kind] + pool->making_count[kind];
	unsigned missing = coming < full ? full - coming : 0;

	if (pool->failures[kind] >= FAILURES_MAX || pool->maker_count[kind] >= MAKERS_MAX ||
	    (kind == CELL_INTERNET && !pool->host->network.usable))
		return 0;
	if (missing > 0 && missing <= full / 2 && !pool->rested) {
		*later = true;
		return 0;
	}
	return missing;
}

static void on_rested(struct timer *timer)
{
	CONTAINER_OF(timer, struct cell_pool, rest)->rested = true;
}

static bool refill_kind(struct cell_pool *pool, unsigned kind, bool *later)
{
	unsigned wanted;
	bool started = false;

	while ((wanted = wanted_cells(pool, kind, later)) > 0) {
		struct error err = {0};

		if (cells_make(pool, (enum cell_kind)kind, wanted, &err) < 0) {
			pool->failures[kind]++;
			log_warning("cannot make a cell", FAILURE(&err));
			break;
		}
		started = true;
	}
	return started;
}

bool cells_refill(struct cell_pool *pool)
{
	bool started = false, later = false;

	discard_dead(pool);
	for (unsigned i = 0; i < CELL_KIND_COUNT; i++)
		started |= refill_kind(pool, i, &later);
	/* Full again, or just begun: the next one that is taken starts a new rest. */
	if (pool->rested && !started && list_is_empty(&pool->makers))
		pool->rested = false;
	if (later && list_is_empty(&pool->rest.item)) {
		pool->rest.on_time = on_rested;
		timer_start(pool->events, &pool->rest, REST_MS);
	}
	return started;
}
