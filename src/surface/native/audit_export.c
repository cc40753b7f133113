/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/audit_export.h"

#include <ctype.h>
#include <stdio.h>

#include "audit/log/log.h"

#define FILTER_TEXT_MAX 900

/* The verifier takes plain characters only. */
static void add_filter(struct buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	buf_addf(out, "%s%s=", out->size ? " " : "", name);
	for (size_t i = 0; i < 128 && value[i]; i++)
		buf_add_byte(out, isalnum((unsigned char)value[i]) || strchr("._@+*:-", value[i])
		                          ? value[i]
		                          : '?');
}

static const char *describe_filter(struct arena *a, const struct audit_filter *f)
{
	AUTO(buf_done) struct buf out = BUF(FILTER_TEXT_MAX);

	add_filter(&out, "project", f->project_id);
	add_filter(&out, "organization", f->organization_id);
	add_filter(&out, "user", f->user_id);
	add_filter(&out, "key", f->key_id);
	add_filter(&out, "target", f->target_id);
	add_filter(&out, "request", f->request_id);
	add_filter(&out, "result", f->result);
	add_filter(&out, "action", f->pattern);
	if (f->since > 0)
		buf_addf(&out, "%ssince=%lld", out.size ? " " : "", (long long)f->since);
	if (f->until > 0)
		buf_addf(&out, "%suntil=%lld", out.size ? " " : "", (long long)f->until);
	return arena_copy(a, buf_span(&out));
}

static int write_checkpoint(struct audit_export *e, const char *chain,
                            const struct audit_checkpoint_record *c, struct error *err)
{
	unsigned char signature[AUDIT_SIGNATURE_SIZE];
	struct audit_checkpoint checkpoint = {.chain = chain, .sequence = c->sequence, .at = c->at};

	memcpy(checkpoint.hash, c->hash, AUDIT_HASH_SIZE);
	if (hex_decode(span_of(c->signature), signature, sizeof(signature)) < 0)
		return FAIL(err, ERROR_SYSTEM, "the checkpoint of row %lld has no signature",
		            (long long)c->sequence);
	audit_export_checkpoint_write(e->out, &checkpoint, c->public_key, signature);
	return 0;
}

/* The head, and the checkpoint of the row before the first one. */
static int begin_export(struct audit_export *e, const struct audit_head *head, struct error *err)
{
	struct audit_export_head line = {.chain = head->chain,
	                                 .filter = describe_filter(e->arena, &e->filter)};
	int64_t start = e->from > head->base + 1 ? e->from - 1 : head->base;
	struct audit_checkpoint_record base;
	bool found;

	if (audit_log_key(e->log, line.key, err) < 0)
		return -1;
	audit_export_head_write(e->out, &line);
	e->after = head->base;
	if (start == 0)
		return 0;
	if (store_audit_checkpoint_before(e->store, e->arena, start + 1, &base, &found, err) < 0)
		return -1;
	if (!found)
		return head->base == 0 ? 0
		                       : FAIL(err, ERROR_SYSTEM,
		                              "the checkpoint of the dropped row %lld is missing",
		                              (long long)head->base);
	e->after = base.sequence;
	return write_checkpoint(e, head->chain, &base, err);
}

/* Rows of a page, those of them that the filter shows, and the checkpoints among them. */
struct page_parts {
	struct audit_list all, shown;
	struct audit_checkpoint_list checkpoints;
};

static bool has_filter(const struct audit_filter *f)
{
	return f->project_id || f->organization_id || f->user_id || f->key_id || f->target_id ||
	       f->request_id || f->result || f->pattern || f->since > 0 || f->until > 0;
}

static int read_parts(struct audit_export *e, int64_t upto, struct page_parts *ret,
                      struct error *err)
{
	struct audit_page page = {
	        .after = e->after, .before = upto + 1, .limit = AUDIT_EXPORT_ROWS_MAX};

	if (store_audit_list(e->store, e->arena, &page, &ret->all, err) < 0 ||
	    store_audit_checkpoint_list(e->store, e->arena, &page, &ret->checkpoints, err) < 0)
		return -1;
	ret->shown = ret->all;
	page.filter = e->filter;
	return has_filter(&e->filter)
	               ? store_audit_list(e->store, e->arena, &page, &ret->shown, err)
	               : 0;
}

static void write_row(struct audit_export *e, const struct audit_record *r, bool is_shown)
{
	AUTO(buf_done) struct buf text = BUF(AUDIT_LINE_MAX);

	if (!is_shown) {
		audit_export_hidden_write(e->out, r->row.sequence, r->digest, r->hash);
		return;
	}
	audit_row_write(&text, &r->row);
	audit_export_row_write(e->out, buf_span(&text), r->hash);
}

/* Returns the number of the last written row. */
static int write_parts(struct audit_export *e, const char *chain, const struct page_parts *p,
                       int64_t *ret_last, struct error *err)
{
	size_t shown = 0, checkpoint = 0;

	for (size_t i = 0; i < p->all.count && e->out->size < AUDIT_EXPORT_BYTES_MAX; i++) {
		const struct audit_record *r = &p->all.items[i];
		bool is_shown = shown < p->shown.count &&
		                p->shown.items[shown].row.sequence == r->row.sequence;

		shown += is_shown;
		write_row(e, r, is_shown);
		*ret_last = r->row.sequence;
		if (checkpoint == p->checkpoints.count ||
		    p->checkpoints.items[checkpoint].sequence != r->row.sequence)
			continue;
		if (write_checkpoint(e, chain, &p->checkpoints.items[checkpoint++], err) < 0)
			return -1;
	}
	return 0;
}

int audit_export_write(struct audit_export *e, struct error *err)
{
	struct audit_checkpoint_record newest = {0};
	struct page_parts parts;
	struct audit_head head;
	int64_t last, upto;

	if (store_audit_head(e->store, e->arena, &head, err) < 0 ||
	    (e->begins && begin_export(e, &head, err) < 0))
		return -1;
	last = e->after;
	upto = e->after + AUDIT_EXPORT_ROWS_MAX;
	if (head.sequence <= upto) {
		if (audit_log_checkpoint(e->log, e->arena, &newest, err) < 0)
			return -1;
		upto = newest.sequence < upto ? newest.sequence : upto;
	}
	if (last >= upto)
		return 0;
	if (read_parts(e, upto, &parts, err) < 0 ||
	    write_parts(e, head.chain, &parts, &last, err) < 0)
		return -1;
	e->next = last == newest.sequence ? 0 : last;
	return 0;
}
