/* SPDX-License-Identifier: Apache-2.0 */
/* code/reader.h — what a kernel's output says about one block of code. Part of code.h's contract;
 * pure, no I/O.
 *
 * The bytes are a sandbox's: a mark that is not whole is output, a message that is not understood
 * is left out and told on stderr, and nothing is kept beyond the limits below. */
#pragma once

#include "code/code.h"
#include "wire/agent.h"

#define CODE_MESSAGE_MAX ((size_t)16 * 1024 * 1024)
#define CODE_PIECE_MAX 4096 /* PIPE_BUF */

/* What a block shows: its last value, figures, what it displays. Absent is NULL, or size 0. */
struct code_result {
	const char *text, *html, *markdown, *svg, *png, *jpeg, *pdf, *latex, *javascript;
	struct span json, data, chart, extra; /* JSON texts without line breaks */
	bool is_main;                         /* the value of the last expression */
};
extern const struct json_shape code_result_shape; /* all members but absent ones */

enum code_event_kind {
	CODE_BEGIN,  /* count: which block of the kernel it is */
	CODE_STDOUT, /* text */
	CODE_STDERR, /* text */
	CODE_RESULT, /* result */
	CODE_ERROR,  /* name, value, traceback */
	CODE_END,    /* status: of a shell's last command, else 0 */
};
struct code_event {
	enum code_event_kind kind;
	int64_t count, status;
	struct span text;
	const struct code_result *result;
	const char *name, *value, *traceback;
};

struct code_stream {
	char piece[CODE_PIECE_MAX];
	size_t size;   /* of the piece that has begun; 0 = none */
	char begun[4]; /* a UTF-8 sequence whose rest is missing */
	size_t begun_size;
	bool has_ended; /* its end mark has come */
};
struct code_reader {
	char nonce[CODE_NONCE_SIZE];
	struct code_stream streams[2];
	struct buf message;
	struct arena arena; /* of the event at hand */
	bool has_begun, is_too_long;
	void (*on_event)(void *context, const struct code_event *event);
	void *context;
};
void code_reader_init(struct code_reader *r, const char *nonce);
void code_reader_done(struct code_reader *r); /* zeroed is fine */
/* Calls on_event with what the bytes tell. What comes before the block has begun is left out. */
void code_reader_feed(struct code_reader *r, enum agent_stream stream, struct span bytes);
/* All has been told: CODE_END was the last event, and both streams are at its mark. */
bool code_reader_is_over(const struct code_reader *r);
