/* SPDX-License-Identifier: Apache-2.0 */
/* wire/broker_sandbox.h — creates, limits, lists and measures sandboxes: part of wire/broker.h. */
#pragma once

#include "wire/wire.h"

struct broker_create {
	uint64_t request;
	uint32_t kind; /* enum broker_kind */
	const char *sandbox;
	const char *hostname;
	const char *template_name; /* a folder below DATA/templates, or "host" */
	uint32_t network;          /* enum sandbox_network */
	uint32_t privileges;
	uint64_t cpu_milli;
	uint64_t memory_bytes;
	uint64_t disk_bytes;
	uint64_t pids;
	uint32_t background;  /* 1: idle processor time only, without a limit */
	uint32_t has_kvm;     /* 1: /dev/kvm is there; only with the template "host" */
	const char *snapshot; /* whose files the sandbox begins with, or ""; not for BROKER_START */
	const char **volumes; /* "VOLUME:rw:/PATH" or "VOLUME:ro:/PATH//FOLDER-IN-IT" */
	/* "" or "SUBJECT:BASE:ro:TEMPLATE": mounts two trees at BROKER_REVIEW_PATH, as
	 * wire/agent_files.h describes. `base` shows snapshot BASE, or the template when that is
	 * ""; `now` shows SUBJECT (a sandbox or snapshot). "rw" makes `now` writable; SUBJECT is
	 * stopped then. */
	const char *review;
	const char *warm;   /* as in broker_pool, or "" */
	const char *egress; /* network rules, as in sandbox/egress.h; "" = none */
	/* BROKER_ENTRY repeats both. */
	const char *owner; /* an id, or "" */
	uint64_t lease_epoch;
};
#define BROKER_REVIEW_PATH "/review"
struct broker_created {
	uint64_t request;
	uint32_t disk_is_advisory;
	uint64_t took_us;
	const char *steps; /* "overlay=41 limits=60 setup=310 …" in µs, for the create breakdown */
};

struct broker_limit {
	uint64_t request;
	const char *sandbox;
	uint64_t cpu_milli; /* as in broker_create */
	uint64_t memory_bytes;
	uint64_t pids;
};
struct broker_entry {
	uint64_t request;
	const char *sandbox;
	uint32_t running;
	uint32_t paused; /* implies running */
	const char *owner;
	uint64_t lease_epoch;
};
struct broker_usage {
	uint64_t request;
	uint64_t uptime_ms;
	uint64_t cpu_us;
	uint64_t memory_bytes;
	uint64_t memory_limit;
	uint64_t disk_bytes;
	uint64_t disk_limit;
	uint64_t pids;
	uint64_t pids_limit;
	uint64_t network_in;
	uint64_t network_out;
	uint64_t oom_kills;
};

extern const struct wire_member broker_create_shape[], broker_created_shape[], broker_limit_shape[],
        broker_entry_shape[], broker_usage_shape[];
