/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/broker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/descriptors.h"
#include "broker/host/options.h"
#include "broker/layers/shared.h"
#include "broker/network/firewall.h"
#include "broker/network/forced.h"
#include "broker/network/network.h"
#include "broker/server/broker_lock.h"
#include "broker/server/images.h"
#include "broker/server/state.h"
#include "broker/server/sweep.h"
#include "broker/volume/disk_quota.h"

#define SHARED_FOLDER "/run/atoll"
#define CHUNKS_FOLDER SHARED_FOLDER "/chunks"
#define INSTANCES_LOCK SHARED_FOLDER "/instances.lock"

static void on_signal(struct fd_watch *watch)
{
	struct broker *b = CONTAINER_OF(watch, struct broker, signals);
	struct signalfd_siginfo info;

	/* SIGUSR1: the supervisor found that the data folder is gone, so no later broker can adopt
	 * the sandboxes. SIGUSR2: the server stops, and the option host_keep is off. */
	while (read(b->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			sandboxes_end_all(&b->sandboxes);
		else if (info.ssi_signo == SIGUSR2)
			sandboxes_end_host(&b->sandboxes);
		else
			b->events.stopping = true;
	}
}

/* An answer is read by the call that waits for it, so this is the end of file. The broker can do
 * nothing without atoll-launch; the next one adopts the sandboxes. */
static NORETURN void on_launcher_end(UNUSED struct fd_watch *watch)
{
	log_error("broker ends, because atoll-launch has ended");
	_exit(EXIT_FAILURE);
}

static int open_signals(struct broker *b, struct error *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigaddset(&set, SIGUSR2);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return FAIL_ERRNO(err, "block signals");
	b->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (b->signal_fd < 0)
		return FAIL_ERRNO(err, "make a signalfd");
	(void)signal(SIGPIPE, SIG_IGN);
	b->signals.on_ready = on_signal;
	return watch_start(&b->events, &b->signals, b->signal_fd, err);
}

/* The last broker on the host removes what all share, unless sandboxes live on. */
static void remove_shared_parts(struct broker *b)
{
	if (!broker_lock_is_last(b->lock_fd) || !cgroup_remove_ours(b->host.cgroups))
		return;
	/* Before the table goes: its rule keeps the interfaces from forwarding for others. */
	for (unsigned i = 0; i < NETWORK_FAMILIES; i++)
		network_forced_release(b->host.network, i);
	if (b->host.network->usable)
		network_forget();
}

/* Interfaces that an earlier broker has let forward need not do so for sandboxes without internet,
 * or without IPv6. */
static void release_idle_uplinks(struct broker *b)
{
	struct host_network *n = b->host.network;
	const bool is_used[NETWORK_FAMILIES] = {
	        [NETWORK_IPV4] = n->usable && n->has_uplink,
	        [NETWORK_IPV6] = n->ipv6,
	};

	for (unsigned i = 0; i < NETWORK_FAMILIES; i++) {
		if (is_used[i] || n->forced[i].count == 0)
			continue;
		if (broker_lock_is_last(b->lock_fd))
			network_forced_release(n, i);
		broker_lock_share(b->lock_fd);
	}
}

static int start_broker(struct broker *b, const struct broker_options *options, struct error *err)
{
	b->lock_fd = b->guard.fd = b->uplinks.fd = -1;
	fault_point("broker", "starting");
	if (mkdir(SHARED_FOLDER, 0755) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "make the folder '" SHARED_FOLDER "'");
	if (broker_lock_enter(INSTANCES_LOCK, &b->lock_fd, err) < 0)
		return -1;
	if (events_open(&b->events, err) < 0 ||
	    host_open(&b->host, options, &b->network, err) < 0 ||
	    host_layers_make(&b->host, err) < 0)
		return -1;
	if (disk_quota_open(&b->host, err) < 0)
		return -1;
	broker_connect_parts(b);
	b->launcher.on_ready = on_launcher_end;
	if (open_signals(b, err) < 0 ||
	    watch_start(&b->events, &b->launcher, b->host.launcher_fd, err) < 0)
		return -1;
	if (slots_open(&b->slots, CHUNKS_FOLDER, b->host.data_path, err) < 0)
		return -1;
	release_idle_uplinks(b);
	guard_open(b);
	if (layer_stacks_adopt(&b->stacks, err) < 0 || sandboxes_adopt(&b->sandboxes, err) < 0)
		return -1;
	beats_begin(&b->beats, &b->sandboxes);
	broker_sweep(b);
	guard_begin(b);
	uplink_watch_open(b);
	if (server_open(b, err) < 0)
		return -1;
	/* A child closes the descriptors of all parts, so all must be open by now. */
	flattening_check(&b->flattening);
	disk_watch_open(b);
	trash_room_open(b);
	return 0;
}

static int run_broker(struct broker *b, const struct broker_options *options, struct error *err)
{
	int status;

	if (start_broker(b, options, err) < 0)
		return -1;
	log_info("broker runs", TEXT("data", b->host.data_path),
	         TEXT("cgroup", b->host.cgroups->ops->name),
	         TEXT("internet", b->host.network->usable ? "yes" : "no"),
	         TEXT("disk", disk_quota_name(&b->host)));
	status = events_run(&b->events, err);
	templates_kill(b);
	backups_kill(b);
	disk_watch_close(b);
	trash_room_close(b);
	snapshots_close(&b->snapshots);
	flattening_close(&b->flattening);
	server_close(b);
	uplink_watch_close(b);
	guard_close(b);
	pools_close(&b->pools);
	prewarm_pool_close(&b->prewarm_pool);
	cleaner_finish(b);
	beats_end(&b->beats);
	sandboxes_close(&b->sandboxes);
	layer_stacks_close(&b->stacks);
	slots_close(&b->slots);
	remove_shared_parts(b);
	host_close(&b->host);
	fd_forget(&b->lock_fd);
	events_close(&b->events);
	return status;
}

int broker_main(int argc, char **argv)
{
	static struct broker broker;
	struct broker_options options;
	struct error err = {0};

	log_open("atoll-broker", LOG_INFO);
	(void)umask(022);
	if (geteuid() != 0) {
		error_set(&err, ERROR_FORBIDDEN, 0, HERE, "the broker needs root");
	} else if (broker_options_parse(&options, argc, argv, &err) == 0) {
		descriptors_open();
		if (run_broker(&broker, &options, &err) == 0)
			return EXIT_SUCCESS;
	}
	log_error("broker ends", FAILURE(&err), TEXT("hint", err.hint));
	return EXIT_FAILURE;
}
