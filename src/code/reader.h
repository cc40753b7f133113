/* SPDX-License-Identifier: Apache-2.0 */
/* code/reader.h — parses a kernel's output into the events of one block of code. Part of code.h's
 * contract; pure.
 *
 * The bytes are not trusted: an incomplete mark is output, an invalid message is dropped and
 * reported on stderr, and the limits below bound the memory. */
#pragma once

#include "base/bytes.h"
#include "code/code.h"
#include "wire/agent.h"

#define CODE_MESSAGE_MAX ((size_t)16 * 1024 * 1024)
#define CODE_PIECE_MAX 4096 /* PIPE_BUF */

/* A result of a block: its last value, a figure, a displayed object. Absent members are NULL or
 * have size 0. */
struct code_result {
	const char *text, *html, *markdown, *svg, *png, *jpeg, *pdf, *latex, *javascript;
	struct span json, data, chart, extra; /* JSON texts without line breaks */
	bool is_main;                         /* the value of the last expression */
};
extern const struct json_shape code_result_shape; /* omits absent members */

enum code_event_kind {
	CODE_BEGIN,  /* count: number of the block in its kernel */
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
/* What a person reads of the event: output, the text of a result, a traceback. Size 0: nothing.
 * *ret_is_whole: it is whole lines, though it may lack the last line break. */
struct span code_event_text(const struct code_event *event, bool *ret_is_whole);

struct code_stream {
	char piece[CODE_PIECE_MAX];
	size_t size;   /* of the begun piece; 0 = none */
	char begun[4]; /* an incomplete UTF-8 sequence */
	size_t begun_size;
	bool has_ended; /* its end mark has come */
};
struct code_reader {
	char nonce[CODE_NONCE_SIZE];
	struct code_stream streams[2];
	struct buf message;
	struct arena arena; /* of the current event */
	bool has_begun, is_too_long;
	void (*on_event)(void *context, const struct code_event *event);
	void *context;
};
void code_reader_init(struct code_reader *r, const char *nonce);
void code_reader_done(struct code_reader *r); /* zeroed is fine */
/* Calls on_event for each event in the bytes. Ignores output from before the block's begin. */
void code_reader_feed(struct code_reader *r, enum agent_stream stream, struct span bytes);
/* Complete: CODE_END was the last event, and both streams have reached its mark. */
bool code_reader_is_over(const struct code_reader *r);
