/* SPDX-License-Identifier: Apache-2.0 */
/* decision/packet.h — a message of the kernel's log of packets (nfnetlink_log) as a decision.
 * Private; pure; the packet in it is hostile. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct network_decision;

/* `message` is a netlink message with its header. False when it is none of ours. The prefix has the
 * verdict ('-' denied, '+' allowed, '?' watched) and the sandbox's id. */
bool packet_decision(struct span message, struct network_decision *ret);
