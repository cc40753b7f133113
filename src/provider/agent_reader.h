/* SPDX-License-Identifier: Apache-2.0 */
/* provider/agent_reader.h — how a thread that waits reads the frames of a sandbox's agent.
 *
 * Code inside a sandbox may have become its agent. Whatever that code sends, a reader fails when
 * its deadline has passed, when its call is cancelled, when messages come out of order, when the
 * answer is larger than the limits, and when too many frames carry no content. So a loop over a
 * reader needs no clock of its own. tools/check_banned.py refuses wire_receive in every file that
 * has to use a reader.
 *
 * A reader belongs to one thread. It owns its connection: agent_reader_done gives the connection
 * back to the provider when the answer has ended, and closes it otherwise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct cancel;
struct compute_request;
struct provider;

#define AGENT_EMPTY_FRAMES_MAX 256 /* frames without content, in one answer */

struct agent_limits {
	int64_t deadline;            /* monotonic ms; the only one that must be set */
	const struct cancel *cancel; /* NULL: cancel_current, for what agent_reader_ask begins */
	/* Content has to come at this rate on average, in bytes per second, after `grace_ms`
	 * without any. 0 = any rate. */
	int64_t rate_min, grace_ms;
	/* Of one answer. 0 = 200,000 frames and 64 MiB, or no limit where the answer is a stream:
	 * the caller of a stream counts what it keeps. */
	uint64_t frames_max, bytes_max;
	/* A frame that has begun must be whole after so long, ms; 0 = by the deadline. */
	int64_t frame_ms;
};

struct agent_reader {
	struct provider *provider;
	const char *id; /* of the sandbox; borrowed */
	struct agent_limits limits;
	int fd;
	/* The frame that was read last. */
	uint16_t type; /* enum agent_type */
	struct buf payload;
	int passed_fd;     /* that came with an answer to AGENT_DIAL; -1 = none */
	bool has_ended;    /* the answer has: the connection can carry another request */
	uint16_t request;  /* enum agent_type: says which frames are in order */
	uint64_t received; /* bit of each type that has come */
	uint64_t frames, bytes, empty;
	int64_t asked_ms, begun_ms, answer_by; /* monotonic ms */
	int64_t first_by;                      /* for the first frame alone */
};

/* Bytes of a message that say something: of OUTPUT, those of the process. */
size_t agent_content_size(uint16_t type, size_t payload_size);
/* Whether an agent that is well answers such a request within seconds: it looks something up or
 * makes a small change. The reader of such an answer waits for agent_answer_ms at most. */
bool agent_type_is_quick(uint16_t type);
/* Whether it begins to answer within seconds, however long the answer then takes: it says that a
 * command has started, or a file is open. The first frame is waited for agent_answer_ms at most. */
bool agent_type_is_prompt(uint16_t type);
/* Of this process; 10 s until it is set. Any thread. */
void agent_set_answer_ms(int64_t ms);
int64_t agent_answer_ms(void);
/* Whether this type (enum agent_type) is a request that an agent answers. */
bool agent_type_has_answer(uint16_t type);

void agent_reader_init(struct agent_reader *r, struct provider *p, const char *id,
                       const struct agent_limits *limits);
/* Sends a request: on the reader's connection if there is one, else on a new one. */
MUST_CHECK int agent_reader_ask(struct agent_reader *r, const struct compute_request *request,
                                struct error *err);
/* Takes over a connection on which a request of this type was sent. */
void agent_reader_adopt(struct agent_reader *r, int fd, uint16_t request);
/* More frames for the request at hand: STDIN, DATA, SIGNAL … */
MUST_CHECK int agent_reader_send(struct agent_reader *r, struct span frames, struct error *err);
/* The next frame of the answer, in r->type and r->payload. AGENT_FAILED becomes err. */
MUST_CHECK int agent_reader_next(struct agent_reader *r, struct error *err);
/* The same, when only this type is right. */
MUST_CHECK int agent_reader_expect(struct agent_reader *r, uint16_t type, struct error *err);
/* 1: a frame has begun to come; 0: none until `until`, or `until` has passed; -1: failed. */
MUST_CHECK int agent_reader_wait(struct agent_reader *r, int64_t until, struct error *err);
/* "out of order", for a frame that the caller has no use for; always -1. */
int agent_reader_refuse(const struct agent_reader *r, struct error *err);
void agent_reader_done(struct agent_reader *r); /* zeroed is fine */
