/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/guard.h — keeps the rules for sandboxes' networks in the kernel.
 *
 * An administrator may empty the host's nftables ("nft flush ruleset", which a restart of the
 * service nftables runs, too). The kernel reports each change. When the table is gone or is another
 * one, the broker loads all its rules again in one transaction. If that fails, the sandboxes lose
 * their links: without rules they would reach the host and each other. */
#pragma once

#include "broker/host/event.h"

struct broker;

struct rule_guard {
	struct fd_watch watch;
	int fd;         /* -1: there are no rules to guard */
	uint64_t table; /* the kernel's number of the table, which no other table ever has */
};

/* Call it as soon as the rules are set, so that no change is missed. Without it the broker works
 * and logs a warning. */
void guard_open(struct broker *b);
/* Call it when all adopted sandboxes are known: checks that the table is still the same. */
void guard_begin(struct broker *b);
/* When sandboxes can have no internet, because nft failed or the host had no default route: sets
 * the host up again, so that a repaired host needs no restart of the broker. */
void guard_try_again(struct broker *b);
/* The same when the host has got IPv6 since it was prepared: sandboxes that are made now have it.
 */
void guard_gain_ipv6(struct broker *b);
void guard_close(struct broker *b);
