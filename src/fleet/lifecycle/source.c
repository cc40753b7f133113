/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/source.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/operation.h"
#include "fleet/core/project_cache.h"
#include "provider/provider.h"
#include "sandbox/egress.h"
#include "store/projects.h"

/* The first bytes of addresses. */
#define THIS_NET 0
#define LOOPBACK_NET 127
#define MULTICAST_FIRST 224
/* To connect sends nothing. */
#define ANY_PORT 9

static bool parse_source(const char *text, struct in_addr *ret)
{
	uint32_t first;

	if (inet_pton(AF_INET, text, ret) != 1)
		return false;
	first = ntohl(ret->s_addr) >> 24;
	return first != THIS_NET && first != LOOPBACK_NET && first < MULTICAST_FIRST;
}

/* The kernel lets a socket have the address of a broadcast, but not connect to it. Under
 * ip_nonlocal_bind it lets a socket have any address; the broker's rules then drop all packets. */
static bool host_has(struct in_addr address)
{
	const struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = address};
	const struct sockaddr_in there = {
	        .sin_family = AF_INET, .sin_port = htons(ANY_PORT), .sin_addr = address};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && bind(fd, (const struct sockaddr *)&own, sizeof(own)) == 0 &&
	       connect(fd, (const struct sockaddr *)&there, sizeof(there)) == 0;
}

int source_check(const struct fleet *f, const char *address, struct error *err)
{
	struct in_addr own;

	if (!*address)
		return 0;
	if (!parse_source(address, &own))
		return FAIL(err, ERROR_INVALID,
		            "source_address '%.40s' is no IPv4 address by which to leave", address);
	if (*f->config->network_proxy)
		return FAIL(err, ERROR_CONFLICT,
		            "the project has the source address %s, but connections of this server "
		            "leave through network_proxy",
		            address);
	if (host_has(own))
		return 0;
	(void)FAIL(err, ERROR_CONFLICT,
	           "this host does not have the source address %s of the project", address);
	return FAIL_HINT(err, "add the address to a link of the host ('ip addr add'), use a server "
	                      "whose host has it, or change source_address of the project");
}

int source_find(const struct operation *op, const char **ret, struct error *err)
{
	struct project_record project;

	if (op->record.network == SANDBOX_NETWORK_BLOCKED) {
		*ret = "";
		return 0;
	}
	if (project_find(op->fleet, op->arena, op->record.project_id, &project, err) < 0)
		return FAIL_CONTEXT(err, "read the project");
	if (*project.source_address &&
	    (!(op->ops->abilities & PROVIDER_CAN_LEAVE_BY) || *op->fleet->config->network_proxy))
		return FAIL(err, ERROR_UNSUPPORTED,
		            "it cannot leave by the source address of its project");
	*ret = project.source_address;
	return 0;
}

const char *source_add(const struct operation *op, const char *egress)
{
	struct error err = {0};
	const char *source;

	if (source_find(op, &source, &err) == 0)
		return sandbox_egress_leave_by(op->arena, source, egress);
	log_warning("a sandbox reaches nothing", TEXT("sandbox", op->record.id),
	            TEXT("provider", op->ops->name), FAILURE(&err));
	return "-" SANDBOX_EGRESS_ALL;
}

bool source_is_missing(const char *address)
{
	struct in_addr own;

	return *address && (!parse_source(address, &own) || !host_has(own));
}
