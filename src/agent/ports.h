/* SPDX-License-Identifier: Apache-2.0 */
/* agent/ports.h — the TCP ports that programs listen on, as /proc shows them.
 *
 * Programs inside can have any number of sockets and descriptors, so the search stops at a fixed
 * number of each and says so. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/error.h"
#include "wire/agent_ports.h"

struct listening_port {
	uint16_t port;
	char address[48];
	uint64_t inode; /* of the socket */
	pid_t pid;      /* 0: not found */
};

struct port_list {
	struct listening_port items[AGENT_PORTS_MAX];
	size_t count, found; /* of the items; of those with a pid */
	bool is_cut;         /* a limit was reached */
};

/* Lists the ports of this network namespace, and finds their processes. */
void ports_list(struct port_list *ret);
/* Adds the lines of a file like /proc/net/tcp. */
void ports_parse(struct port_list *list, struct span text, unsigned version);
/* Writes the words of a process's command line, separated by spaces; "" if it has ended. */
void port_command(pid_t pid, char *ret, size_t size);
