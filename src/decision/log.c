/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that reads decisions and writes them. */
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/thread.h"
#include "decision/decision.h"
#include "decision/gather.h"
#include "decision/packet.h"
#include "decision/uses.h"
#include "sandbox/egress_ipv6.h"
#include "store/decisions.h"

#define INTERVAL_MS 500
#define READS_MAX 256 /* with the lock held */
#define PACKET_MESSAGE_MAX 8192
#define TRIES_MAX 5
#define TRY_AGAIN_MS 1000
#define COUNTED_MAX 4096
#define TRIM_PART 8 /* a sandbox is trimmed once for this part of its rows */
#define NAMESERVER_PORT 53
#define ADDRESS_SIZE ADDRESS6_TEXT_SIZE

struct decision_counter {
	int64_t count;
};

struct decision_log {
	struct store *store;
	int reports_fd, packets_fd, close_fd;
	struct egress_opened opened;
	int64_t sandbox_rows_max;
	bool has_proxy;
	atomic_bool is_for_all;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t mutex; /* guards the rest of this block */
	struct gather gather;
	struct decision_counts counts;
	struct rule_uses uses;
	decision_tell *tell;
	void *tell_context;

	struct map counters; /* id of a sandbox -> struct decision_counter; of the thread */
};

/* Rules of the sandbox let it pass, but the rules for all sandboxes do not. */
static bool is_refused_for_all(const struct decision_log *log, const struct network_decision *d)
{
	if (d->verdict != DECISION_ALLOWED)
		return false;
	if (address6_is_set(&d->address6))
		return egress_is_refused6(&d->address6) &&
		       !egress_opened_has6(&log->opened, &d->address6);
	return d->port != NAMESERVER_PORT && egress_is_refused(d->address) &&
	       !egress_opened_has(&log->opened, d->address);
}

static void add_decision(struct decision_log *log, const struct network_decision *d)
{
	uint64_t *const counters[] = {[DECISION_DENIED] = &log->counts.denied,
	                              [DECISION_ALLOWED] = &log->counts.allowed,
	                              [DECISION_WATCHED] = &log->counts.watched};

	*counters[d->verdict] += d->count;
	if (uses_is_of_rule(d))
		*(d->verdict == DECISION_DENIED ? &log->counts.rule_denied
		                                : &log->counts.rule_allowed) += d->count;
	if (decision_is_of_proxy(d->code))
		log->counts.proxy_failures += d->count;
	uses_add(&log->uses, d, clock_unix_ms());
	gather_add(&log->gather, d, clock_unix_ms());
}

static bool read_report(struct decision_log *log)
{
	struct network_decision d;
	ssize_t got = recv(log->reports_fd, &d, sizeof(d), MSG_DONTWAIT);

	if (got < 0)
		return false;
	if (got == (ssize_t)sizeof(d) && decision_is_sound(&d))
		add_decision(log, &d);
	return got > 0;
}

static void add_packets(struct decision_log *log, const char *data, size_t size)
{
	while (size >= sizeof(struct nlmsghdr)) {
		struct network_decision d;
		struct nlmsghdr head;
		size_t step;

		memcpy(&head, data, sizeof(head));
		if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > size)
			return;
		if (packet_decision((struct span){data, head.nlmsg_len}, &d)) {
			if (is_refused_for_all(log, &d)) {
				d.verdict = DECISION_DENIED;
				d.code = DECISION_RANGE_REFUSED;
			}
			add_decision(log, &d);
		}
		step = NLMSG_ALIGN(head.nlmsg_len);
		data += step < size ? step : size;
		size -= step < size ? step : size;
	}
}

static bool read_packets(struct decision_log *log)
{
	char data[PACKET_MESSAGE_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t got = recv(log->packets_fd, data, sizeof(data), MSG_DONTWAIT);

	/* The kernel could not hold all messages, and says so once. */
	if (got < 0 && errno == ENOBUFS) {
		log->counts.dropped++;
		return true;
	}
	if (got > 0)
		add_packets(log, data, (size_t)got);
	return got > 0;
}

/* With the lock held. */
static void drain_sockets(struct decision_log *log)
{
	for (unsigned i = 0; i < READS_MAX && log->reports_fd >= 0 && read_report(log); i++)
		;
	for (unsigned i = 0; i < READS_MAX && log->packets_fd >= 0 && read_packets(log); i++)
		;
}

static void trim_sandbox(struct decision_log *log, const char *sandbox)
{
	struct decision_counter *counter = map_find(&log->counters, sandbox);
	struct error err = {0};

	if (!counter) {
		if (log->counters.count >= COUNTED_MAX)
			map_free_values(&log->counters);
		counter = memory_new(sizeof(*counter));
		(void)map_put(&log->counters, sandbox, counter);
	}
	if (++counter->count <= log->sandbox_rows_max / TRIM_PART)
		return;
	counter->count = 0;
	if (store_decision_trim(log->store, sandbox, log->sandbox_rows_max, &err) < 0)
		log_warning("old network decisions are not dropped yet", TEXT("sandbox", sandbox),
		            FAILURE(&err));
}

static struct decision_record record_of(const struct gathered_row *row, char address[ADDRESS_SIZE])
{
	const struct network_decision *d = &row->decision;

	decision_address(d, address);
	return (struct decision_record){
	        .at = row->at,
	        .sandbox_id = d->sandbox,
	        .verdict = decision_verdicts[d->verdict],
	        .code = decision_codes[d->code],
	        .protocol = decision_protocols[d->protocol],
	        .host = d->host,
	        .address = address,
	        .rule = d->rule,
	        .credential = d->credential,
	        .port = d->port,
	        .count = (int64_t)d->count,
	        .bytes_in = (int64_t)d->bytes_in,
	        .bytes_out = (int64_t)d->bytes_out,
	};
}

static bool wait_for_close(const struct decision_log *log, int timeout_ms)
{
	struct pollfd fd = {log->close_fd, POLLIN, 0};

	return poll(&fd, 1, timeout_ms) > 0;
}

/* A store that does not answer is asked again for some seconds; meanwhile decisions are gathered.
 */
static bool write_batch(const struct decision_log *log, const struct decision_batch *batch)
{
	struct error err = {0};

	for (unsigned i = 0; i < TRIES_MAX; i++) {
		error_clear(&err);
		if (store_decision_add(log->store, batch, &err) == 0)
			return true;
		log_warning("network decisions are not written yet", NUMBER("rows", batch->count),
		            FAILURE(&err));
		if (wait_for_close(log, TRY_AGAIN_MS))
			break;
	}
	return false;
}

/* With the lock held. Rows of one sandbox mostly follow each other. */
static void tell_refusals(const struct decision_log *log, const struct gathered_rows *rows)
{
	const char *told = "";

	for (size_t i = 0; log->tell && i < rows->count; i++) {
		const struct network_decision *d = &rows->items[i].decision;

		if (d->verdict != DECISION_DENIED || strcmp(d->sandbox, told) == 0)
			continue;
		told = d->sandbox;
		log->tell(log->tell_context, d->sandbox);
	}
}

static void write_rows(struct decision_log *log)
{
	struct decision_addition *items;
	struct gathered_rows *rows;
	char(*addresses)[ADDRESS_SIZE];
	bool is_written;

	pthread_mutex_lock(&log->mutex);
	rows = gather_take(&log->gather);
	pthread_mutex_unlock(&log->mutex);
	if (!rows)
		return;
	items = memory_new(rows->count * sizeof(*items));
	addresses = memory_new(rows->count * sizeof(*addresses));
	for (size_t i = 0; i < rows->count; i++)
		items[i] = (struct decision_addition){record_of(&rows->items[i], addresses[i]),
		                                      rows->items[i].tells};
	is_written = write_batch(log, &(struct decision_batch){items, rows->count});
	for (size_t i = 0; is_written && i < rows->count; i++)
		trim_sandbox(log, rows->items[i].decision.sandbox);
	pthread_mutex_lock(&log->mutex);
	*(is_written ? &log->counts.rows : &log->counts.dropped) += rows->count;
	if (is_written)
		tell_refusals(log, rows);
	pthread_mutex_unlock(&log->mutex);
	free(items);
	free(addresses);
	free(rows);
}

static void *run_log(void *context)
{
	struct decision_log *log = context;
	struct pollfd fds[] = {{log->reports_fd, POLLIN, 0},
	                       {log->packets_fd, POLLIN, 0},
	                       {log->close_fd, POLLIN, 0}};
	int64_t write_at = 0;

	while (!(fds[2].revents & POLLIN)) {
		if (poll(fds, COUNT_OF(fds), write_at ? deadline_poll_ms(write_at) : -1) < 0 &&
		    errno != EINTR)
			break;
		pthread_mutex_lock(&log->mutex);
		drain_sockets(log);
		if (log->gather.rows && !write_at)
			write_at = deadline_after(INTERVAL_MS);
		pthread_mutex_unlock(&log->mutex);
		if (write_at && deadline_poll_ms(write_at) == 0) {
			write_rows(log);
			write_at = 0;
		}
	}
	write_rows(log);
	return NULL;
}

static void read_allow(struct decision_log *log, const char *text)
{
	struct span rest = span_of(text), part;

	while (rest.size > 0 && !egress_opened_is_full(&log->opened)) {
		(void)span_split(&rest, ',', &part);
		(void)egress_opened_add(&log->opened, span_trim(part));
	}
}

int decision_log_open(const struct decision_log_options *o, struct decision_log **ret,
                      struct error *err)
{
	struct decision_log *log = memory_new(sizeof(*log));
	int failure;

	*log = (struct decision_log){.store = o->store,
	                             .reports_fd = o->reports_fd,
	                             .packets_fd = o->packets_fd,
	                             .sandbox_rows_max = o->sandbox_rows_max,
	                             .has_proxy = o->has_proxy,
	                             .is_for_all = o->has_proxy};
	pthread_mutex_init(&log->mutex, NULL);
	gather_init(&log->gather);
	read_allow(log, o->allow);
	log->close_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	failure = log->close_fd < 0 ? errno : thread_start(&log->thread, NULL, run_log, log);
	log->has_thread = failure == 0;
	if (failure != 0) {
		decision_log_close(log);
		return FAIL(err, ERROR_SYSTEM, "start the thread of network decisions: error %d",
		            failure);
	}
	*ret = log;
	return 0;
}

void decision_log_close(struct decision_log *log)
{
	if (!log)
		return;
	if (log->has_thread) {
		(void)eventfd_write(log->close_fd, 1);
		(void)pthread_join(log->thread, NULL);
	}
	auto_close(&log->close_fd);
	gather_done(&log->gather);
	uses_done(&log->uses);
	map_free_values(&log->counters);
	pthread_mutex_destroy(&log->mutex);
	free(log);
}

size_t decision_take_uses(struct decision_log *log, struct decision_use *ret, size_t max)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&log->mutex);

	return uses_take(&log->uses, ret, max);
}

void decision_log_follow(struct decision_log *log, decision_tell *tell, void *context)
{
	if (!log)
		return;
	pthread_mutex_lock(&log->mutex);
	log->tell = tell;
	log->tell_context = context;
	pthread_mutex_unlock(&log->mutex);
}

bool decision_log_is_for_all(const struct decision_log *log)
{
	return log && atomic_load(&log->is_for_all);
}

void decision_log_set_for_all(struct decision_log *log, bool is_for_all)
{
	if (log)
		atomic_store(&log->is_for_all, log->has_proxy || is_for_all);
}

struct decision_counts decision_log_counts(struct decision_log *log)
{
	struct decision_counts counts = {0};

	if (!log)
		return counts;
	pthread_mutex_lock(&log->mutex);
	counts = log->counts;
	counts.dropped += log->gather.dropped;
	pthread_mutex_unlock(&log->mutex);
	return counts;
}

uint64_t decision_mark(struct decision_log *log)
{
	uint64_t mark = 0;

	if (!log)
		return mark;
	pthread_mutex_lock(&log->mutex);
	drain_sockets(log);
	mark = gather_mark(&log->gather);
	pthread_mutex_unlock(&log->mutex);
	return mark;
}

size_t decisions_since(struct decision_log *log, const char *sandbox, uint64_t mark,
                       struct network_decision *ret, size_t max)
{
	size_t count = 0;

	if (!log)
		return count;
	pthread_mutex_lock(&log->mutex);
	drain_sockets(log);
	count = gather_since(&log->gather, sandbox, mark, ret, max);
	pthread_mutex_unlock(&log->mutex);
	return count;
}
