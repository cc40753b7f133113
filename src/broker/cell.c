/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/cell.h"

#include <fcntl.h>
#include <signal.h>
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
#define REST_MS 20

void cells_init(struct cell_pool *pool, struct host *host, struct events *events,
                struct slots *slots)
{
	*pool = (struct cell_pool){.host = host, .events = events, .slots = slots};
	list_init(&pool->making);
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
	fd_forget(&cell->root_fd);
	fd_forget(&cell->report_fd);
	free(cell);
}

static void kill_cell(struct cell *cell)
{
	struct error ignored = {0};

	if (cell->pidfd >= 0) {
		(void)!pidfd_signal(cell->pidfd, SIGKILL, &ignored);
		(void)waitid(P_PIDFD, (id_t)cell->pidfd, NULL, WEXITED);
	}
}

static void discard(struct cell *cell)
{
	struct cell_pool *pool = cell->pool;

	list_remove(&cell->item);
	kill_cell(cell);
	pool->on_dead(pool->context, cell->slot, TAKE_FD(cell->mounts_fd));
	cell_free(cell);
}

/* An agent whose maker was ended before it told us of it is met in its cgroup. */
void cells_close(struct cell_pool *pool)
{
	timer_stop(&pool->rest);
	LIST_EACH (&pool->making, item) {
		struct cell *cell = LIST_ENTRY(item, struct cell, item);

		job_cancel(&cell->job);
		discard(cell);
	}
	for (unsigned i = 0; i < CELL_KIND_COUNT; i++)
		LIST_EACH (&pool->ready[i], item)
			discard(LIST_ENTRY(item, struct cell, item));
}

static bool is_alive(const struct cell *cell)
{
	struct error ignored = {0};

	return pidfd_signal(cell->pidfd, 0, &ignored) == 0;
}

struct cell *cells_take(struct cell_pool *pool, enum cell_kind kind)
{
	LIST_EACH (&pool->ready[kind], item) {
		struct cell *cell = LIST_ENTRY(item, struct cell, item);

		pool->ready_count[kind]--;
		if (is_alive(cell)) {
			list_remove(&cell->item);
			return cell;
		}
		log_warning("a cell died while it waited", NUMBER("slot", cell->slot));
		discard(cell);
	}
	return NULL;
}

static int take_report(struct cell *cell, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(sizeof(struct maker_report) + 1);
	int *const places[] = {&cell->pidfd, &cell->ids_fd, &cell->stored_fd, &cell->mounts_fd,
	                       &cell->root_fd};
	struct wire_fds fds = {.count = 0};
	struct maker_report report;

	if (wire_receive_packet(cell->report_fd, deadline_in(0), &packet, &fds, err) < 0)
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

static void on_maker_end(struct job *job, int status)
{
	struct cell *cell = CONTAINER_OF(job, struct cell, job);
	struct cell_pool *pool = cell->pool;
	enum cell_kind kind = cell->kind;
	struct error err = {0};

	(void)status; /* the report tells more */
	list_remove(&cell->item);
	pool->making_count[kind]--;
	fd_forget(&cell->setup_far_fd);
	if (take_report(cell, &err) == 0) {
		fd_forget(&cell->report_fd);
		cell->made_us = (uint64_t)clock_monotonic_ns() / 1000 - cell->made_us;
		pool->failures[kind] = 0;
		pool->ready_count[kind]++;
		list_append(&pool->ready[kind], &cell->item);
	} else {
		pool->failures[kind]++;
		discard(cell);
	}
	pool->on_made(pool->context, kind, &err);
}

/* Socket pairs: the report, and the conversation with the agent. */
static int open_sockets(struct cell *cell, int *ret_far_report, struct error *err)
{
	int report[2], setup[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, setup) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	cell->setup_fd = setup[0];
	cell->setup_far_fd = setup[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	cell->report_fd = report[1]; /* as the maker will see it */
	*ret_far_report = report[0];
	return 0;
}

static int start_maker(struct cell *cell, struct error *err)
{
	AUTO_CLOSE int report = -1;

	if (open_sockets(cell, &report, err) < 0)
		return -1;
	cell->job.on_end = on_maker_end;
	if (job_start(cell->pool->events, &cell->job, maker_run, cell, err) < 0)
		return -1;
	(void)close(cell->report_fd);
	cell->report_fd = TAKE_FD(report);
	return 0;
}

int cells_make(struct cell_pool *pool, enum cell_kind kind, struct error *err)
{
	struct cell *cell = calloc(1, sizeof(*cell));

	if (!cell)
		abort();
	*cell = (struct cell){.pool = pool,
	                      .kind = kind,
	                      .slot = SLOT_NONE,
	                      .pidfd = -1,
	                      .setup_fd = -1,
	                      .setup_far_fd = -1,
	                      .ids_fd = -1,
	                      .stored_fd = -1,
	                      .mounts_fd = -1,
	                      .root_fd = -1,
	                      .report_fd = -1,
	                      .made_us = (uint64_t)clock_monotonic_ns() / 1000};
	memcpy(cell->root_template, pool->likely_template, sizeof(cell->root_template));
	cell->limits = pool->likely_limits;
	cell->template_changes = pool->template_changes;
	if (slots_take(pool->slots, &cell->slot, err) < 0 || start_maker(cell, err) < 0) {
		slots_release(pool->slots, cell->slot);
		cell_free(cell);
		return -1;
	}
	list_append(&pool->making, &cell->item);
	pool->making_count[kind]++;
	return 0;
}

void cells_forget_template(struct cell_pool *pool, const char *name)
{
	if (strcmp(pool->likely_template, name) == 0)
		pool->likely_template[0] = '\0';
	pool->template_changes++;
}

/* How many makers there should be for one kind now: several at once when many cells are missing,
 * because a maker mostly waits for the kernel. While at least half is there, the refill waits until
 * the request that took one, and its first command, have the processors for themselves. */
static unsigned wanted_makers(const struct cell_pool *pool, unsigned kind, bool *later)
{
	unsigned full = pool->host->options.cells, ready = pool->ready_count[kind];
	unsigned missing = ready < full ? full - ready : 0;

	if (pool->failures[kind] >= FAILURES_MAX ||
	    (kind == CELL_INTERNET && !pool->host->network.usable))
		return 0;
	if (missing > 0 && missing <= full / 2 && !pool->rested) {
		*later = true;
		return 0;
	}
	return (missing + 1) / 2 < MAKERS_MAX ? (missing + 1) / 2 : MAKERS_MAX;
}

static void on_rested(struct timer *timer)
{
	CONTAINER_OF(timer, struct cell_pool, rest)->rested = true;
}

static bool refill_kind(struct cell_pool *pool, unsigned kind, bool *later)
{
	unsigned wanted = wanted_makers(pool, kind, later);
	bool started = false;

	while (pool->making_count[kind] < wanted) {
		struct error err = {0};

		if (cells_make(pool, (enum cell_kind)kind, &err) < 0) {
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

	for (unsigned i = 0; i < CELL_KIND_COUNT; i++)
		started |= refill_kind(pool, i, &later);
	/* Full again, or just begun: the next one that is taken starts a new rest. */
	if (pool->rested && !started && list_is_empty(&pool->making))
		pool->rested = false;
	if (later && list_is_empty(&pool->rest.item)) {
		pool->rest.on_time = on_rested;
		timer_start(pool->events, &pool->rest, REST_MS);
	}
	return started;
}
