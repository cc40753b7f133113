/* SPDX-License-Identifier: Apache-2.0 */
/* code/block.h — runs a block of code on the caller's thread, and ends a block whose caller has
 * gone. Part of code.h's contract.
 *
 * Such blocks of one context run in sequence on this server. They are independent of the blocks in
 * queue.h, so they use contexts of their own. */
#pragma once

#include "base/bytes.h"
#include "base/cancel.h"
#include "code/reader.h"

struct code_block {
	const struct code_context *context;
	const char *code;
	const struct json_map *env; /* or NULL */
	int64_t timeout_ms; /* then the block is interrupted, and the kernel killed if that does not
	                       help. Counts from the begin, because an interrupt ends a
	                       kernel that is starting */
	const struct cancel *cancel; /* interrupts it, too; or NULL */
	void (*on_event)(void *context, const struct code_event *event);
	void *on_event_context;
};
struct code_ended {
	int64_t began; /* unix ms */
	int64_t duration_ms;
	bool timed_out;
	bool has_lost_kernel;        /* the kernel ended with the block */
	struct agent_process kernel; /* numbers only, when lost */
};
/* The caller has checked code and env (code_source_check). */
MUST_CHECK int code_block_run(const struct code_at *at, const struct code_block *block,
                              struct code_ended *ret, struct error *err);

/* A block that was sent to its kernel and may not have begun yet. */
struct code_sent {
	uint64_t process;
	uint64_t since[2]; /* ends of the kernel's output before it was sent */
	char nonce[CODE_NONCE_SIZE];
};
/* Interrupts the block repeatedly once it has begun, until it has ended. ERROR_TIMEOUT when it
 * ignores interrupts for some seconds, or has not begun by the deadline. */
MUST_CHECK int code_block_end(const struct code_at *at, const struct code_sent *sent,
                              struct error *err);
