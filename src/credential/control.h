/* SPDX-License-Identifier: Apache-2.0 */
/* credential/control.h — messages from the api process to the proxy, over a stream socket. Private
 * to this folder.
 *
 * A message is a head and `size` bytes: a set as JSON (CONTROL_PUT), a sandbox's id
 * (CONTROL_REMOVE), or nothing (CONTROL_SETTLED: what this connection has not put is removed). Each
 * is answered with one byte: CONTROL_DONE or CONTROL_FAILED. CONTROL_USAGE has no bytes, and its
 * answer goes on with a struct control_usage. */
#pragma once

#include <stdint.h>

enum control_kind { CONTROL_PUT = 1, CONTROL_REMOVE, CONTROL_SETTLED, CONTROL_USAGE };
struct control_head {
	uint32_t kind, size;
};
struct control_usage {
	uint64_t sandboxes, connections;
	uint64_t memory, memory_largest; /* bytes, of all sandboxes and of the one with most */
	uint64_t refused;                /* connections of sandboxes that were over a limit */
};
#define CONTROL_DONE 'd'
#define CONTROL_FAILED 'f'
