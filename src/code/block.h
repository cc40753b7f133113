/* SPDX-License-Identifier: Apache-2.0 */
/* code/block.h — a block of code, waited for: for callers that have a thread of their own for it.
 * And the end of one that nobody waits for any more. Part of code.h's contract.
 *
 * Such blocks of one context run one after the other on this server. They know nothing of those
 * that wait in turns.h, which is why they have contexts of their own. */
#pragma once

#include "base/cancel.h"
#include "code/reader.h"

struct code_block {
	const struct code_context *context;
	const char *code;
	const struct json_map *env;  /* or NULL */
	int64_t timeout_ms;          /* then it is interrupted, and the kernel ended if need be:
	                                not before it has begun, for a kernel that starts would end */
	const struct cancel *cancel; /* the same when it is said; or NULL */
	void (*on_event)(void *context, const struct code_event *event);
	void *on_event_context;
};
struct code_ended {
	int64_t began; /* unix ms: the blocks before it had ended */
	int64_t duration_ms;
	bool timed_out;
	bool has_lost_kernel;        /* it ended with the block */
	struct agent_process kernel; /* numbers only, when lost */
};
/* The code and env are checked. */
MUST_CHECK int code_block_run(const struct code_at *at, const struct code_block *block,
                              struct code_ended *ret, struct error *err);

/* A block that was sent to its kernel, maybe a moment ago. */
struct code_sent {
	uint64_t process;
	uint64_t since[2]; /* ends of the kernel's output, from before it was sent */
	char nonce[CODE_NONCE_SIZE];
};
/* Interrupts it, when it has begun, until it has ended. ERROR_TIMEOUT when it heeds no interrupt
 * for some seconds, or has not begun by the deadline. */
MUST_CHECK int code_block_end(const struct code_at *at, const struct code_sent *sent,
                              struct error *err);
