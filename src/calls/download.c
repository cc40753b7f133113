/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/download.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/server/range.h"
#include "http/server/relay.h"

int download_range_find(struct request *rq, const char *what, int64_t whole,
                        struct download_range *ret, struct error *err)
{
	uint64_t offset = 0, size = 0;
	bool is_part = range_parse(request_header(rq, "Range"), &offset, &size);
	int64_t left;

	if (is_part && offset >= (uint64_t)whole)
		return range_fail(rq, what, (uint64_t)whole, err);
	left = whole - (int64_t)offset;
	*ret = (struct download_range){
	        .is_part = is_part,
	        .offset = (int64_t)offset,
	        .size = size > 0 && size < (uint64_t)left ? (int64_t)size : left,
	        .whole = whole,
	};
	return 0;
}

struct download_relay {
	struct arena arena; /* of the texts */
	struct download download;
	int64_t left;
	bool has_begun;
};

static void begin_download(struct download_relay *m, struct relay *relay)
{
	const struct download *d = &m->download;
	const struct download_range *r = &d->range;

	if (m->has_begun)
		return;
	m->has_begun = true;
	for (const struct download_header *h = d->headers; h->name; h++)
		relay_begin_header(relay, h->name, h->value);
	if (r->is_part)
		relay_begin_header(relay, "Content-Range",
		                   arena_format(&m->arena, "bytes %" PRId64 "-%" PRId64 "/%" PRId64,
		                                r->offset, r->offset + r->size - 1, r->whole));
	relay_begin(relay, r->is_part ? 206 : 200, d->media_type, r->size);
}

static int on_upstream(void *state, struct relay *relay, struct span *in, struct error *err)
{
	struct download_relay *m = state;

	if ((int64_t)in->size > m->left)
		return FAIL(err, ERROR_SYSTEM, "the blob is longer than it was");
	begin_download(m, relay);
	relay_write(relay, *in);
	m->left -= (int64_t)in->size;
	*in = (struct span){NULL, 0};
	return 0;
}

static int on_end(void *state, struct relay *relay, struct error *err)
{
	struct download_relay *m = state;

	if (m->left > 0)
		return FAIL(err, ERROR_SYSTEM, "the blob store broke off");
	begin_download(m, relay);
	relay_finish(relay);
	return 0;
}

static void release_download(void *state, int upstream_fd, UNUSED bool clean)
{
	struct download_relay *m = state;

	if (upstream_fd >= 0)
		(void)close(upstream_fd);
	arena_done(&m->arena);
	free(m);
}

static const struct relay_ops download_ops = {
        .on_upstream = on_upstream,
        .on_upstream_end = on_end,
        .release = release_download,
};

static const struct download_header *copy_headers(struct arena *a,
                                                  const struct download_header *from)
{
	struct download_header *copy;
	size_t count = 0;

	while (from && from[count].name)
		count++;
	copy = ARENA_ARRAY(a, struct download_header, count + 1);
	for (size_t i = 0; i < count; i++)
		copy[i] = (struct download_header){arena_text(a, from[i].name),
		                                   arena_text(a, from[i].value)};
	return copy;
}

void download_answer(struct reply *reply, const struct download *download)
{
	struct download_relay *m = memory_new(sizeof(*m));

	m->download = *download;
	m->download.headers = copy_headers(&m->arena, download->headers);
	m->download.media_type = arena_text(&m->arena, download->media_type);
	m->left = download->range.size;
	reply_relay(reply, &(struct relay_options){.upstream_fd = download->fd,
	                                           .ops = &download_ops,
	                                           .state = m,
	                                           .idle_timeout_ms = download->idle_ms});
}
