/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/prewarm/pool.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/cleanup_item.h"
#include "broker/host/launcher.h"
#include "broker/host/options.h"
#include "broker/host/slots.h"
#include "broker/network/network.h"
#include "broker/prewarm/maker.h"

#define FAILURES_MAX 3
#define REST_MS 20

void prewarm_pool_init(struct prewarm_pool *pool, struct host *host, struct events *events,
                       struct slots *slots)
{
	*pool = (struct prewarm_pool){.host = host, .events = events, .slots = slots};
	list_init(&pool->makers);
	list_init(&pool->dead);
	list_init(&pool->rest.item);
	for (unsigned i = 0; i < PREWARM_KIND_COUNT; i++)
		list_init(&pool->ready[i]);
}

static void kill_prewarm(struct prewarm *prewarm)
{
	struct error ignored = {0};
	siginfo_t info;

	if (prewarm->pidfd >= 0) {
		(void)!pidfd_signal(prewarm->pidfd, SIGKILL, &ignored);
		launcher_reap(prewarm->pool->host, prewarm->pidfd, &info);
	}
}

void prewarm_pool_keep(struct prewarm_pool *pool, uint32_t slot)
{
	assert(pool->kept_count < COUNT_OF(pool->kept));
	pool->kept[pool->kept_count++] = slot;
}

static uint32_t take_kept(struct prewarm_pool *pool)
{
	uint32_t slot;

	if (pool->kept_count == 0)
		return SLOT_NONE;
	slot = pool->kept[0];
	pool->kept_count--;
	memmove(pool->kept, pool->kept + 1, pool->kept_count * sizeof(pool->kept[0]));
	return slot;
}

static void discard_prewarm(struct prewarm *prewarm)
{
	struct prewarm_pool *pool = prewarm->pool;
	struct cleanup_item item = {.slot = prewarm->slot};

	list_remove(&prewarm->item);
	/* It is unknown how far the maker came with the kept cgroup. */
	if (prewarm->kept != SLOT_NONE)
		prewarm_pool_keep(pool, prewarm->kept);
	kill_prewarm(prewarm);
	prewarm_let_go_of_root(prewarm);
	item.mounts_fd = TAKE_FD(prewarm->mounts_fd);
	item.net_fd = TAKE_FD(prewarm->net_fd);
	pool->on_dead(pool->context, &item);
	prewarm_free(prewarm);
}

/* An agent whose maker died before it reported the agent is found in its cgroup, or ends because it
 * is in none. */
static void maker_end(struct maker *maker)
{
	struct prewarm_pool *pool = maker->pool;

	watch_stop(pool->events, &maker->reports);
	child_cancel(&maker->child);
	list_remove(&maker->item);
	pool->maker_count[maker->kind]--;
	for (unsigned i = maker->done; i < maker->count; i++) {
		pool->making_count[maker->kind]--;
		discard_prewarm(maker->prewarms[i]);
	}
	fd_forget(&maker->report_fd);
	free(maker);
}

static void discard_dead(struct prewarm_pool *pool)
{
	LIST_EACH (&pool->dead, struct prewarm, prewarm, item)
		discard_prewarm(prewarm);
}

void prewarm_pool_close(struct prewarm_pool *pool)
{
	timer_stop(&pool->rest);
	discard_dead(pool);
	LIST_EACH (&pool->makers, struct maker, maker, item)
		maker_end(maker);
	for (unsigned i = 0; i < PREWARM_KIND_COUNT; i++)
		LIST_EACH (&pool->ready[i], struct prewarm, prewarm, item)
			discard_prewarm(prewarm);
}

enum prewarm_wish { WISH_GUESS, WISH_NO_ROOT, WISH_ANY };

static bool fits_wish(const struct prewarm *prewarm, enum prewarm_wish wish,
                      const struct prewarm_guess *guess)
{
	if (wish == WISH_NO_ROOT)
		return prewarm->root.root < 0;
	return wish == WISH_ANY || prewarm_has_root(prewarm, guess);
}

static struct prewarm *take_first_fitting(struct prewarm_pool *pool, enum prewarm_kind kind,
                                          enum prewarm_wish wish, const struct prewarm_guess *guess)
{
	LIST_EACH (&pool->ready[kind], struct prewarm, prewarm, item) {
		if (!fits_wish(prewarm, wish, guess))
			continue;
		list_remove(&prewarm->item);
		pool->ready_count[kind]--;
		if (pidfd_is_alive(prewarm->pidfd))
			return prewarm;
		log_warning("a prewarmed sandbox died while it waited",
		            NUMBER("slot", prewarm->slot));
		list_append(&pool->dead, &prewarm->item);
	}
	return NULL;
}

struct prewarm *prewarm_pool_take(struct prewarm_pool *pool, enum prewarm_kind kind,
                                  const struct prewarm_guess *guess)
{
	struct prewarm *prewarm = NULL;

	for (unsigned wish = guess ? WISH_GUESS : WISH_ANY; !prewarm && wish <= WISH_ANY; wish++)
		prewarm = take_first_fitting(pool, kind, (enum prewarm_wish)wish, guess);
	return prewarm;
}

static int take_report(struct maker *maker, struct prewarm *prewarm, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(sizeof(struct maker_report) + 1);
	int *const places[] = {&prewarm->pidfd, &prewarm->ids_fd, &prewarm->stored_fd,
	                       &prewarm->mounts_fd, &prewarm->net_fd};
	struct wire_fds fds = {.count = 0};
	struct maker_report report;

	if (wire_receive_packet(maker->report_fd, deadline_after(0), &packet, &fds, err) < 0)
		return FAIL_CONTEXT(err, "maker ended early");
	if (packet.size != sizeof(report)) {
		wire_fds_close(&fds);
		return FAIL(err, ERROR_SYSTEM, "maker's report is malformed");
	}
	memcpy(&report, packet.data, sizeof(report));
	for (unsigned i = 0; i < fds.count && i < COUNT_OF(places); i++)
		*places[i] = fds.fds[i];
	if (fds.count > COUNT_OF(places) &&
	    root_mounts_take(
	            &prewarm->root, host_root_layers(maker->pool->host, prewarm->root_template),
	            fds.fds + COUNT_OF(places), fds.count - (unsigned)COUNT_OF(places)) < 0)
		return FAIL(err, ERROR_SYSTEM, "maker's report is malformed");
	if (report.err.code != ERROR_NONE) {
		*err = report.err;
		return -1;
	}
	prewarm->pid = report.pid;
	prewarm->start_time = report.start_time;
	if (!report.limited)
		prewarm->limits = (struct cgroup_limits){0};
	return 0;
}

/* Without rules there is no network, even if the maker began with rules. */
static int check_network(const struct prewarm_pool *pool, enum prewarm_kind kind, struct error *err)
{
	if (kind != PREWARM_INTERNET || pool->host->network->usable)
		return 0;
	*err = pool->host->network->problem;
	return -1;
}

/* Takes the next prewarmed sandbox of the maker, or notes its failure. */
static void take_made_prewarm(struct maker *maker)
{
	struct prewarm_pool *pool = maker->pool;
	struct prewarm *prewarm = maker->prewarms[maker->done++];
	enum prewarm_kind kind = maker->kind;
	struct error err = {0};

	pool->making_count[kind]--;
	fd_forget(&prewarm->setup_far_fd);
	if (take_report(maker, prewarm, &err) == 0 && check_network(pool, kind, &err) == 0) {
		prewarm->made_us = (uint64_t)clock_monotonic_ns() / 1000 - prewarm->made_us;
		prewarm->kept = SLOT_NONE;
		pool->failures[kind] = 0;
		pool->ready_count[kind]++;
		list_append(&pool->ready[kind], &prewarm->item);
	} else {
		pool->failures[kind]++;
		discard_prewarm(prewarm);
	}
	pool->on_made(pool->context, kind, &err);
}

static void on_report(struct fd_watch *watch)
{
	struct maker *maker = CONTAINER_OF(watch, struct maker, reports);

	take_made_prewarm(maker);
	if (maker->done == maker->count)
		watch_stop(maker->pool->events, watch);
}

static void on_maker_end(struct broker_child *child, int status)
{
	struct maker *maker = CONTAINER_OF(child, struct maker, child);

	(void)status; /* the reports tell more */
	while (maker->done < maker->count)
		take_made_prewarm(maker);
	maker_end(maker);
}

static struct prewarm *prewarm_new(struct prewarm_pool *pool, enum prewarm_kind kind)
{
	struct prewarm *prewarm = memory_new(sizeof(*prewarm));

	*prewarm = (struct prewarm){.pool = pool,
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
	                            .root = ROOT_MOUNTS_NONE,
	                            .limits = pool->likely_limits,
	                            .template_changes = pool->template_changes,
	                            .made_us = (uint64_t)clock_monotonic_ns() / 1000};
	memcpy(prewarm->root_template, pool->likely_template, sizeof(prewarm->root_template));
	prewarm->root_stack = pool->likely_stack;
	list_init(&prewarm->item);
	return prewarm;
}

/* Gives it a slot and the two ends of its set-up socket. */
static int add_prewarm(struct maker *maker, struct error *err)
{
	struct prewarm *prewarm = prewarm_new(maker->pool, maker->kind);
	int setup[2];

	if (slots_take(maker->pool->slots, &prewarm->slot, err) < 0) {
		prewarm_free(prewarm);
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, setup) < 0) {
		slots_release(maker->pool->slots, prewarm->slot);
		prewarm_free(prewarm);
		return FAIL_ERRNO(err, "make a socket pair");
	}
	prewarm->kept = take_kept(maker->pool);
	prewarm->setup_fd = setup[0];
	prewarm->setup_far_fd = setup[1];
	maker->prewarms[maker->count++] = prewarm;
	maker->pool->making_count[maker->kind]++;
	return 0;
}

/* Fewer than wanted are better than none. */
static int add_prewarms(struct maker *maker, unsigned count, struct error *err)
{
	while (maker->count < count && maker->count < MAKER_BATCH)
		if (add_prewarm(maker, err) < 0)
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
	maker->child.on_end = on_maker_end;
	maker->child.host = maker->pool->host;
	if (child_start(events, &maker->child, maker_run, maker, err) < 0)
		return -1;
	(void)close(maker->report_fd);
	maker->report_fd = TAKE_FD(report);
	return watch_start(events, &maker->reports, maker->report_fd, err);
}

int prewarm_pool_make(struct prewarm_pool *pool, enum prewarm_kind kind, unsigned count,
                      struct error *err)
{
	struct maker *maker;
	int status;

	if (check_network(pool, kind, err) < 0)
		return -1;
	maker = memory_new(sizeof(*maker));
	*maker = (struct maker){.pool = pool,
	                        .kind = kind,
	                        .report_fd = -1,
	                        .reports = {.fd = -1, .on_ready = on_report}};
	list_append(&pool->makers, &maker->item);
	pool->maker_count[kind]++;
	status = add_prewarms(maker, count, err);
	if (status == 0)
		status = start_maker(maker, err);
	if (status < 0)
		maker_end(maker);
	return status;
}

void prewarm_pool_forget_template(struct prewarm_pool *pool, const char *name)
{
	if (strcmp(pool->likely_template, name) == 0)
		pool->likely_template[0] = '\0';
	pool->template_changes++;
}

/* How many prewarmed sandboxes to begin now: all that are missing, because a maker mostly waits for
 * the kernel. While at least half are ready the refill waits, so that the request that took one,
 * and its first command, have the processors. */
static unsigned wanted_prewarms(const struct prewarm_pool *pool, unsigned kind, bool *later)
{
	unsigned full = pool->host->options->cells + pool->wanted_more[kind];
	unsigned coming = pool->ready_count[kind] + pool->making_count[kind];
	unsigned missing = coming < full ? full - coming : 0;

	if (pool->failures[kind] >= FAILURES_MAX || pool->maker_count[kind] >= MAKERS_MAX ||
	    (kind == PREWARM_INTERNET && !pool->host->network->usable))
		return 0;
	if (missing > 0 && missing <= full / 2 && !pool->rested) {
		*later = true;
		return 0;
	}
	return missing;
}

static void on_refill_delay_end(struct timer *timer)
{
	CONTAINER_OF(timer, struct prewarm_pool, rest)->rested = true;
}

static bool refill_kind(struct prewarm_pool *pool, unsigned kind, bool *later)
{
	unsigned wanted;
	bool started = false;

	while ((wanted = wanted_prewarms(pool, kind, later)) > 0) {
		struct error err = {0};

		if (prewarm_pool_make(pool, (enum prewarm_kind)kind, wanted, &err) < 0) {
			pool->failures[kind]++;
			log_warning("cannot make a prewarmed sandbox", FAILURE(&err));
			break;
		}
		started = true;
	}
	return started;
}

bool prewarm_pool_refill(struct prewarm_pool *pool)
{
	bool started = false, later = false;

	discard_dead(pool);
	for (unsigned i = 0; i < PREWARM_KIND_COUNT; i++)
		started |= refill_kind(pool, i, &later);
	/* Full again, or just begun: the next take starts a new rest. */
	if (pool->rested && !started && list_is_empty(&pool->makers))
		pool->rested = false;
	if (later && list_is_empty(&pool->rest.item)) {
		pool->rest.on_time = on_refill_delay_end;
		timer_start(pool->events, &pool->rest, REST_MS);
	}
	return started;
}

void prewarm_pool_let_go(struct prewarm_pool *pool, int mount_fd)
{
	pool->on_dead(pool->context, &(struct cleanup_item){SLOT_NONE, mount_fd, -1});
}
