/* SPDX-License-Identifier: Apache-2.0 */
/* broker/host/options.h — the broker's command-line options. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum disk_quota {
	DISK_QUOTA_OFF,
	DISK_QUOTA_ON, /* images, where they work */
	DISK_QUOTA_AUTO,
	DISK_QUOTA_PROJECT,
	DISK_QUOTA_IMAGE,
	DISK_QUOTA_COUNT,
};

/* Ports of the gateway of host names at NETWORK_GATEWAY; all 0: there is none. */
struct network_gateway {
	uint16_t http, tls, dns;
};

struct broker_options {
	const char *data, *agent;
	uid_t uid;                  /* of atolld */
	gid_t gid;                  /* of atolld */
	unsigned cells;             /* prewarmed sandboxes kept ready, of each kind */
	unsigned pool_automatic;    /* size of an automatic pool; see broker/sandbox/pool.h */
	unsigned pool_max;          /* prepared sandboxes in all pools */
	enum disk_quota disk_quota; /* as requested; struct host says what is in force */
	bool disk_watch;
	unsigned disk_inodes;      /* for each GiB of a disk limit; 0: no limit */
	bool registry_private;     /* images may be pulled from the host's own network */
	unsigned io_mbps;          /* limit for each sandbox; 0: an equal share only */
	unsigned orphan_timeout_s; /* a sandbox without a broker ends after this time; 0: never */
	unsigned orphans_keep_s;   /* how long the trash keeps layers that no stack names */
	const char *subnet, *allow;
	const char *subnet6; /* of the IPv6 addresses of sandboxes */
	bool ipv6;           /* sandboxes have IPv6 where the host has it */
	struct network_gateway gateway;
	bool proxied;       /* all leaves through the gateway, which has an upstream proxy */
	unsigned log_group; /* of the kernel's packet log; 0: decisions about addresses are not told
	                     */
};

/* The error names the option. */
MUST_CHECK int broker_options_parse(struct broker_options *ret, int argc, char **argv,
                                    struct error *err);
