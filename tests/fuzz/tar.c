/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a tar stream; what is read as an entry must come back from our own header. */
#include <stdlib.h>
#include <string.h>

#include "agent/tar.h"
#include "base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ssize_t read_span(void *context, char *out, size_t size, struct error *err)
{
	struct span *rest = context;
	size_t got = size < rest->size ? size : rest->size;

	(void)err;
	if (got)
		memcpy(out, rest->data, got);
	rest->data += got;
	rest->size -= got;
	return (ssize_t)got;
}

static void check_again(const struct tar_entry *in)
{
	AUTO(buf_done) struct buf header = BUF(1 << 20);
	AUTO(tar_reader_done) struct tar_reader r = {.read = read_span};
	struct tar_entry out;
	struct error err;
	struct span rest;

	tar_add_header(&header, in);
	rest = buf_span(&header);
	r.context = &rest;
	if (tar_next(&r, &out, &err) != 1 || strcmp(in->name, out.name) != 0 ||
	    strcmp(in->link, out.link) != 0 || in->size != out.size || in->uid != out.uid ||
	    in->gid != out.gid || in->mode != out.mode)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = {(const char *)data, size};
	AUTO(tar_reader_done) struct tar_reader r = {.read = read_span, .context = &rest};
	struct tar_entry entry;
	struct error err;
	char bytes[700];

	while (tar_next(&r, &entry, &err) > 0) {
		check_again(&entry);
		(void)!tar_read(&r, bytes, sizeof(bytes), &err);
	}
	return 0;
}
