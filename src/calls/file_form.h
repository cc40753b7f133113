/* SPDX-License-Identifier: Apache-2.0 */
/* calls/file_form.h — writes the files of a multipart/form-data body, one WRITE after the other on
 * one connection, without waiting for the agent in between.
 *
 * A surface's struct begins with struct file_form. It names the path of each file and writes the
 * answer. */
#pragma once

#include "calls/multipart.h"
#include "calls/stream.h"
#include "wire/agent_files.h"

struct api_target;
struct file_form;
struct file_form_ops {
	/* A part begins. Its bytes are a file's after file_form_begin. */
	int (*on_part)(struct file_form *f, const struct multipart_part *part, struct error *err);
	/* Bytes of a part that is no file. NULL: they are dropped. */
	int (*on_text)(struct file_form *f, struct span bytes, struct error *err);
	/* The file's bytes were sent: for further requests. May be NULL. */
	int (*on_file_end)(struct file_form *f, struct error *err);
	/* Gets the body in place of file_form_add and file_form_end. May be NULL. */
	int (*on_body)(struct file_form *f, struct span bytes, bool last, struct error *err);
	/* Appends a written file to the answer. */
	void (*write_entry)(struct file_form *f, const struct agent_file *file);
	const char *head, *tail; /* of the answer */
	const char *missing;     /* the failure of a form without a file */
};
struct file_form {
	struct stream stream;
	const struct file_form_ops *ops;
	struct arena texts;     /* what lives as long as the form */
	struct agent_path file; /* the request for each file; texts as above */
	bool is_raw;            /* the whole body is one file, which on_body begins */
	struct multipart multipart;
	struct relay *relay; /* while the body is read */
	struct buf answer;
	unsigned files, entries; /* begun, and answered */
	unsigned waiting;        /* requests that the agent has not done yet */
	bool in_file, body_ended;
};

/* For the surface's stream_ops. */
int file_form_on_client(struct stream *s, struct relay *relay, struct span bytes, bool last,
                        struct error *err);
int file_form_on_message(struct stream *s, struct relay *relay, uint16_t type, struct span payload,
                         struct error *err);
void file_form_done(struct stream *s);

/* Zeroed but for its own members; takes the hold over. Begins the activity of the upload. */
struct file_form *file_form_new(const struct request *rq, const struct stream_ops *stream,
                                const struct file_form_ops *ops, struct api_target *t);
/* Makes the reply. Frees the form on failure. */
MUST_CHECK int file_form_start(struct request *rq, struct file_form *f, struct reply *reply,
                               struct error *err);

MUST_CHECK int file_form_begin(struct file_form *f, const char *path, struct error *err);
/* Sends a request that the agent answers with AGENT_DONE. */
MUST_CHECK int file_form_send(struct file_form *f, uint16_t type, const struct agent_path *path,
                              struct error *err);
/* Bytes of the body, and its end. */
MUST_CHECK int file_form_add(struct file_form *f, struct span bytes, struct error *err);
MUST_CHECK int file_form_end(struct file_form *f, struct error *err);
