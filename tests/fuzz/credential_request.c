/* SPDX-License-Identifier: Apache-2.0 */
/* What sandboxes send to the credential proxy, and what tenants send as rules. The head that goes
 * to the host is one request, to the same host and by the same method, and has the value where the
 * rule puts it; a path without a fault has no dot segment; a mask leaves no value. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "credential/passage/draft.h"
#include "credential/passage/mask.h"

#define VALUE "v4lue/of+a%credential"
#define HOST "api.example.com"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char set_text[] =
        "{\"sandbox\":\"aaaaaaaaaaaaaaaaaaaa\",\"ca_certificate\":\"x\",\"ca_key\":\"y\","
        "\"credentials\":[{\"name\":\"c\",\"hosts\":[\"" HOST "\"],\"fields\":{\"v\":\"" VALUE
        "\"}}],\"rules\":[{\"host\":\"" HOST "\",\"action\":\"inject\",\"remove\":[\"x-drop\"],"
        "\"inject\":[{\"kind\":\"header\",\"name\":\"x-key\",\"value\":\"${credential.c.v}\"},"
        "{\"kind\":\"basic\",\"username\":\"u\",\"password\":\"${credential.c.v}\"},"
        "{\"kind\":\"query\",\"name\":\"q\",\"value\":\"${credential.c.v}\"},"
        "{\"kind\":\"cookie\",\"name\":\"k\",\"value\":\"${credential.c.v}\"},"
        "{\"kind\":\"placeholder\",\"marker\":\"the-marker\",\"value\":\"${credential.c.v}\","
        "\"in\":[\"header:x-mark\",\"header:authorization\",\"query:m\",\"path\"]}]},"
        "{\"host\":\"" HOST "\",\"action\":\"inject\",\"inject\":[{\"kind\":\"sigv4\","
        "\"access_key_id\":\"id\",\"secret_access_key\":\"${credential.c.v}\"}]}]}";

static void check_path(const struct draft *d)
{
	struct span path = span_of(d->path), segment;

	if (credential_path_fault(path, false))
		return;
	while (span_split(&path, '/', &segment))
		assert(!span_equals_text(segment, "..") && !span_equals_text(segment, "."));
}

/* What the host reads is what the proxy meant. */
static void check_written(const struct draft *d, const struct buf *out)
{
	struct http_head again;
	size_t scanned = 0, end = 0;
	char *copy = malloc(out->size + 1);

	assert(copy && !out->overflowed);
	memcpy(copy, out->data, out->size);
	assert(head_find_end(buf_span(out), &scanned, &end) == FAULT_NONE && end == out->size);
	/* A target or a number of fields may have grown past what a head may have. */
	if (head_parse(copy, end, &again) == FAULT_NONE) {
		assert(strcmp(again.method, d->head->method) == 0);
		assert(strcmp(again.known[HEAD_HOST], HOST) == 0);
		assert(again.chunked == d->head->chunked &&
		       again.content_length == d->head->content_length);
		assert(!d->rule || draft_signature(d) ||
		       strcmp(head_find(&again, "x-key"), VALUE) == 0);
		assert(!d->rule || draft_signature(d) || !head_find(&again, "x-drop"));
		assert(!d->rule || draft_signature(d) || !head_find(&again, "x_key"));
	}
	free(copy);
}

static void read_request(const struct credential_set *set, const struct credential_rule *rule,
                         struct span in, size_t end)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(1024 * 1024);
	char *text = arena_copy(&a, (struct span){in.data, end});
	struct error err = {0};
	struct http_head head;
	struct draft d;

	if (head_parse(text, end, &head) != FAULT_NONE)
		return;
	draft_begin(&d, &a, &head, HOST);
	check_path(&d);
	d.set = set;
	d.rule = rule;
	if (draft_inject(&d, &err) < 0 ||
	    (draft_signature(&d) && draft_sign(&d, (struct span){NULL, 0}, 1, &err) < 0))
		return;
	draft_write(&out, &d);
	check_written(&d, &out);
}

static void read_masked(struct span in)
{
	static const char *const values[] = {VALUE};
	struct mask *m = mask_new(values, 1);
	char *copy = malloc(in.size + 1), *pieces = malloc(in.size + 1);
	size_t step = in.size > 0 ? (size_t)(unsigned char)in.data[0] + 1 : 1;
	struct mask_stream s = {0};

	assert(copy && pieces);
	memcpy(copy, in.data, in.size);
	memcpy(pieces, in.data, in.size);
	mask_bytes(m, copy, in.size);
	assert(!memmem(copy, in.size, VALUE, strlen(VALUE)));
	for (size_t at = 0; at < in.size; at += step) {
		(void)mask_next(
		        m, &s,
		        &(struct mask_piece){.data = pieces,
		                             .known = at,
		                             .size = at + step < in.size ? at + step : in.size});
		assert(mask_begun(m, &s) <= mask_reach(m));
	}
	assert(memcmp(copy, pieces, in.size) == 0);
	free(copy);
	free(pieces);
	mask_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {0};
	struct span in = {(const char *)data, size};
	struct credential_faults faults;
	struct credential_rules rules;
	struct credential_set set;
	struct error err = {0};
	size_t scanned = 0, end = 0;

	read_masked(in);
	if (credential_rules_parse(&a, in, &rules, &faults, &err) == 0)
		assert(faults.count == 0);
	if (head_find_end(in, &scanned, &end) != FAULT_NONE || end == 0)
		return 0;
	if (credential_set_parse(&a, SPAN(set_text), &set, &err) < 0)
		abort();
	read_request(&set, NULL, in, end);
	for (size_t i = 0; i < set.rules.count; i++)
		read_request(&set, (const struct credential_rule *)set.rules.items + i, in, end);
	return 0;
}
