/* SPDX-License-Identifier: Apache-2.0 */
/* calls/multipart.h — multipart/form-data (RFC 7578), parsed while it arrives. Pure, no
 * I/O.
 *
 * Memory is constant: the head of a part is buffered until it is complete (8 KiB at most), its
 * bytes are passed on at once. Input is untrusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

#define MULTIPART_BOUNDARY_MAX 70
#define MULTIPART_HEAD_MAX (8 * 1024)
#define MULTIPART_PARTS_MAX 1000

struct multipart_part {
	struct span name;      /* of the form's field */
	struct span file_name; /* data is NULL when the part has no file name */
};
struct multipart_ops {
	int (*on_part)(void *context, const struct multipart_part *part, struct error *err);
	int (*on_bytes)(void *context, struct span bytes, struct error *err);
	int (*on_part_end)(void *context, struct error *err);
};

enum multipart_state {
	MULTIPART_PREAMBLE,
	MULTIPART_AFTER_BOUNDARY, /* CRLF begins a part, "--" ends the whole */
	MULTIPART_HEAD,
	MULTIPART_BODY,
	MULTIPART_EPILOGUE,
};
struct multipart {
	const struct multipart_ops *ops;
	void *context;
	enum multipart_state state;
	char mark[MULTIPART_BOUNDARY_MAX + 5]; /* CRLF "--" boundary */
	size_t mark_size;
	struct buf pending; /* bytes that may be the start of a boundary or a head */
	unsigned parts;
};

/* Takes the boundary from "multipart/form-data; boundary=…". */
MUST_CHECK int multipart_init(struct multipart *m, const char *content_type,
                              const struct multipart_ops *ops, void *context, struct error *err);
void multipart_done(struct multipart *m); /* zeroed is fine */
MUST_CHECK int multipart_add(struct multipart *m, struct span bytes, struct error *err);
/* The body has ended. Fails when the closing boundary is missing. */
MUST_CHECK int multipart_end(struct multipart *m, struct error *err);
