/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/host/options.h"

#include <getopt.h>
#include <string.h>

#include "base/bytes.h"

enum option_letter {
	OPTION_DATA = 1,
	OPTION_AGENT,
	OPTION_UID,
	OPTION_GID,
	OPTION_CELLS,
	OPTION_POOL_AUTOMATIC,
	OPTION_POOL_MAX,
	OPTION_SUBNET,
	OPTION_ALLOW,
	OPTION_SUBNET6,
	OPTION_IPV6,
	OPTION_IO_MBPS,
	OPTION_GATEWAY,
	OPTION_LOG_GROUP,
	OPTION_PROXIED,
	OPTION_DISK_QUOTA,
	OPTION_DISK_WATCH,
	OPTION_DISK_INODES,
	OPTION_REGISTRY_PRIVATE,
	OPTION_ORPHANS_KEEP,
	OPTION_ORPHAN_TIMEOUT,
	OPTION_END,
};

static const struct option options[] = {
        {"data", required_argument, NULL, OPTION_DATA},
        {"agent", required_argument, NULL, OPTION_AGENT},
        {"uid", required_argument, NULL, OPTION_UID},
        {"gid", required_argument, NULL, OPTION_GID},
        {"cells", required_argument, NULL, OPTION_CELLS},
        {"pool-automatic", required_argument, NULL, OPTION_POOL_AUTOMATIC},
        {"pool-max", required_argument, NULL, OPTION_POOL_MAX},
        {"subnet", required_argument, NULL, OPTION_SUBNET},
        {"allow", required_argument, NULL, OPTION_ALLOW},
        {"subnet6", required_argument, NULL, OPTION_SUBNET6},
        {"ipv6", required_argument, NULL, OPTION_IPV6},
        {"io-mbps", required_argument, NULL, OPTION_IO_MBPS},
        {"gateway", required_argument, NULL, OPTION_GATEWAY},
        {"log-group", required_argument, NULL, OPTION_LOG_GROUP},
        {"proxied", required_argument, NULL, OPTION_PROXIED},
        {"disk-quota", required_argument, NULL, OPTION_DISK_QUOTA},
        {"disk-watch", required_argument, NULL, OPTION_DISK_WATCH},
        {"disk-inodes", required_argument, NULL, OPTION_DISK_INODES},
        {"registry-private", required_argument, NULL, OPTION_REGISTRY_PRIVATE},
        {"orphans-keep", required_argument, NULL, OPTION_ORPHANS_KEEP},
        {"orphan-timeout", required_argument, NULL, OPTION_ORPHAN_TIMEOUT},
        {NULL, 0, NULL, 0},
};

#define CELLS_MAX 256 /* the configuration allows as many */
#define POOL_MAX 1024
#define DISK_INODES_MAX (1 << 24)
#define IO_MBPS_MAX 1000000 /* and as much */

static int set_number(const char *text, int64_t max, unsigned *ret, struct error *err)
{
	int64_t value;

	if (span_parse_whole(span_of(text), 0, max, &value, err) < 0)
		return -1;
	*ret = (unsigned)value;
	return 0;
}

static int set_switch(const char *text, bool *ret, struct error *err)
{
	*ret = strcmp(text, "on") == 0;
	return *ret || strcmp(text, "off") == 0
	               ? 0
	               : FAIL(err, ERROR_INVALID, "'%s' is neither on nor off", text);
}

static int set_disk_quota(const char *text, enum disk_quota *ret, struct error *err)
{
	static const char *const names[DISK_QUOTA_COUNT] = {
	        [DISK_QUOTA_OFF] = "off",     [DISK_QUOTA_ON] = "on",
	        [DISK_QUOTA_AUTO] = "auto",   [DISK_QUOTA_PROJECT] = "project",
	        [DISK_QUOTA_IMAGE] = "image",
	};

	for (unsigned i = 0; i < COUNT_OF(names); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*ret = (enum disk_quota)i;
		return 0;
	}
	return FAIL(err, ERROR_INVALID, "'%s' is none of off, on, auto, project and image", text);
}

/* "HTTP,TLS,DNS": ports */
static int set_gateway(const char *text, struct network_gateway *ret, struct error *err)
{
	uint16_t *const ports[] = {&ret->http, &ret->tls, &ret->dns};
	struct span rest = span_of(text), part;
	int64_t port;

	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		(void)span_split(&rest, ',', &part);
		if (span_parse_whole(part, 1, UINT16_MAX, &port, err) < 0)
			return -1;
		*ports[i] = (uint16_t)port;
	}
	return rest.size == 0 ? 0 : FAIL(err, ERROR_INVALID, "more than three ports");
}

static int set_option(struct broker_options *o, int letter, const char *value, struct error *err)
{
	switch (letter) {
	case OPTION_DATA:
		o->data = value;
		return 0;
	case OPTION_AGENT:
		o->agent = value;
		return 0;
	case OPTION_UID:
		return set_number(value, INT32_MAX, &o->uid, err);
	case OPTION_GID:
		return set_number(value, INT32_MAX, &o->gid, err);
	case OPTION_CELLS:
		return set_number(value, CELLS_MAX, &o->cells, err);
	case OPTION_POOL_AUTOMATIC:
		return set_number(value, POOL_MAX, &o->pool_automatic, err);
	case OPTION_POOL_MAX:
		return set_number(value, POOL_MAX, &o->pool_max, err);
	case OPTION_SUBNET:
		o->subnet = value;
		return 0;
	case OPTION_ALLOW:
		o->allow = value;
		return 0;
	case OPTION_SUBNET6:
		o->subnet6 = value;
		return 0;
	case OPTION_IPV6:
		return set_switch(value, &o->ipv6, err);
	case OPTION_IO_MBPS:
		return set_number(value, IO_MBPS_MAX, &o->io_mbps, err);
	case OPTION_GATEWAY:
		return set_gateway(value, &o->gateway, err);
	case OPTION_PROXIED:
		return set_switch(value, &o->proxied, err);
	case OPTION_LOG_GROUP:
		return set_number(value, UINT16_MAX, &o->log_group, err);
	case OPTION_DISK_QUOTA:
		return set_disk_quota(value, &o->disk_quota, err);
	case OPTION_DISK_WATCH:
		return set_switch(value, &o->disk_watch, err);
	case OPTION_DISK_INODES:
		return set_number(value, DISK_INODES_MAX, &o->disk_inodes, err);
	case OPTION_REGISTRY_PRIVATE:
		return set_switch(value, &o->registry_private, err);
	case OPTION_ORPHANS_KEEP:
		return set_number(value, INT32_MAX, &o->orphans_keep_s, err);
	case OPTION_ORPHAN_TIMEOUT:
		return set_number(value, INT32_MAX, &o->orphan_timeout_s, err);
	default:
		return FAIL(err, ERROR_INVALID, "unknown option, or one without its value");
	}
}

int broker_options_parse(struct broker_options *ret, int argc, char **argv, struct error *err)
{
	struct broker_options o = {.subnet = "10.213.0.0/16",
	                           .allow = "",
	                           .subnet6 = "fd61:746f:6c6c::/64",
	                           .cells = 4,
	                           .orphans_keep_s = 86400,
	                           .pool_automatic = 4,
	                           .pool_max = 64};
	int letter, index = 0;

	optind = 1;
	opterr = 0;
	while ((letter = getopt_long(argc, argv, "", options, &index)) != -1)
		if (set_option(&o, letter, optarg, err) < 0)
			return letter >= OPTION_END
			               ? -1
			               : FAIL_CONTEXT(err, "--%s", options[index].name);
	if (optind < argc)
		return FAIL(err, ERROR_INVALID, "unknown argument '%s'", argv[optind]);
	if (!o.data || !o.agent)
		return FAIL(err, ERROR_INVALID, "--data and --agent are needed");
	*ret = o;
	return 0;
}
