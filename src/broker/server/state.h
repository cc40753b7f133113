/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/state.h — the whole broker. */
#pragma once

#include "broker/host/slots.h"
#include "broker/layers/stacks.h"
#include "broker/network/network.h"
#include "broker/prewarm/pool.h"
#include "broker/sandbox/beat.h"
#include "broker/sandbox/pool.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/server/disk_watch.h"
#include "broker/server/guard.h"
#include "broker/server/measure_task.h"
#include "broker/server/memory.h"
#include "broker/server/server.h"
#include "broker/server/trash_room.h"
#include "broker/server/uplink_watch.h"
#include "broker/snapshot/flatten.h"
#include "broker/snapshot/snapshot.h"

struct broker {
	struct host host;
	struct host_network network; /* of host */
	struct events events;
	struct slots slots;
	struct prewarm_pool prewarm_pool;
	struct sandboxes sandboxes;
	struct beats beats;
	struct prepared_pools pools;
	struct layer_stacks stacks;
	struct snapshots snapshots;
	struct flattening flattening;
	struct cleaner cleaner;
	struct broker_server server;
	struct rule_guard guard;
	struct uplink_watch uplinks;
	struct list templates; /* struct template_task */
	struct list volumes;   /* struct volume_task */
	struct list backups;   /* struct backup_task */
	struct memory_probe memory;
	struct measuring measuring;
	struct disk_watch disk;
	struct trash_room room;
	bool is_swept;            /* what earlier brokers left has been removed */
	struct fd_watch launcher; /* tells when atoll-launch has ended */
	struct fd_watch signals;
	int signal_fd;
	int lock_fd; /* see broker_lock.h */
};

/* connect.c: connects the parts: what each of them reports to the others. */
void broker_connect_parts(struct broker *b);
