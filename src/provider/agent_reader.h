/* SPDX-License-Identifier: Apache-2.0 */
/* provider/agent_reader.h — reads the frames of a sandbox's agent on a thread that may block.
 *
 * The agent is not trusted: code inside the sandbox may have taken it over. A reader fails when its
 * deadline passes, when its call is cancelled, when messages come out of order, when the answer
 * exceeds the limits, and when too many frames carry no content. So a loop over a reader needs no
 * clock. tools/check_banned.py refuses wire_receive in files that must use a reader.
 *
 * A reader belongs to one thread and owns its connection: agent_reader_done returns the connection
 * to the provider when the answer has ended, and closes it otherwise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "provider/compute.h"

#define AGENT_EMPTY_FRAMES_MAX 256 /* frames without content, in one answer */

struct agent_limits {
	int64_t deadline;            /* monotonic ms; the only one that must be set */
	const struct cancel *cancel; /* NULL: cancel_current, for what agent_reader_ask begins */
	/* Minimum average rate of content in bytes per second, after a grace period of `grace_ms`.
	 * 0 = any rate. */
	int64_t rate_min, grace_ms;
	/* For one answer. 0 = 200,000 frames and 64 MiB; no limit for streams, whose caller limits
	 * what it keeps. */
	uint64_t frames_max, bytes_max;
	/* Time for the rest of a frame once it has begun, ms; 0 = until the deadline. */
	int64_t frame_ms;
};

struct agent_reader {
	struct provider *provider;
	const char *id; /* of the sandbox; borrowed */
	struct agent_limits limits;
	int fd;
	/* The last frame. */
	uint16_t type; /* enum agent_type */
	struct buf payload;
	int passed_fd;     /* received with an answer to AGENT_DIAL; -1 = none */
	bool has_ended;    /* the answer: the connection can carry another request */
	uint16_t request;  /* enum agent_type; decides which frames are in order */
	uint64_t received; /* one bit for each type received */
	uint64_t frames, bytes, empty;
	int64_t asked_ms, begun_ms, answer_by; /* monotonic ms */
	int64_t first_by;                      /* for the first frame alone */
};

/* Content bytes of a message: for OUTPUT the bytes of the process. */
size_t agent_content_size(uint16_t type, size_t payload_size);
/* Whether a healthy agent completes such a request within seconds (a lookup or a small change). The
 * reader waits for the answer for agent_answer_ms at most. */
bool agent_type_is_quick(uint16_t type);
/* Whether a healthy agent begins its answer within seconds (a command has started, a file is open).
 * The reader waits for the first frame for agent_answer_ms at most. */
bool agent_type_is_prompt(uint16_t type);
/* One value per process; 10 s by default. Any thread. */
void agent_set_answer_ms(int64_t ms);
int64_t agent_answer_ms(void);

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
/* The same; fails unless the frame has this type. */
MUST_CHECK int agent_reader_expect(struct agent_reader *r, uint16_t type, struct error *err);
/* 1: a frame has begun; 0: none came until `until`; -1: failed. */
MUST_CHECK int agent_reader_wait(struct agent_reader *r, int64_t until, struct error *err);
/* The error "out of order" for a frame that the caller does not accept; always -1. */
int agent_reader_refuse(const struct agent_reader *r, struct error *err);
/* The connection itself, after AGENT_DONE of a dial that it carries. */
int agent_reader_take_fd(struct agent_reader *r);
void agent_reader_done(struct agent_reader *r); /* zeroed is fine */
