/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a row, and the lines of an export. The hash of every row depends on the text: a
 * change of it needs another number "v", and the old text stays for old rows. */
#include <inttypes.h>

#include "audit/audit.h"
#include "json/write.h"

/* NULL for what a row does not have: it is the same in every row. */
static void add_object(struct buf *out, const char *name, const char *json)
{
	json_add_raw(out, name, json ? span_of(json) : (struct span){NULL, 0});
}

void audit_row_write(struct buf *out, const struct audit_row *row)
{
	json_begin_object(out, NULL);
	json_add_whole(out, "v", 1);
	json_add_whole(out, "sequence", row->sequence);
	json_add_epoch_time(out, "at", row->at);
	json_add_text(out, "id", row->id);
	json_add_text(out, "server", row->node);
	json_add_text(out, "version", row->version);
	json_add_text(out, "project", row->project_id);
	json_add_text(out, "user", row->user_id);
	json_add_text(out, "key", row->key_id);
	json_add_text(out, "via", row->via);
	json_add_text(out, "address", row->address);
	json_add_text(out, "user_agent", row->user_agent);
	json_add_text(out, "action", row->action);
	json_add_text(out, "method", row->method);
	json_add_text(out, "path", row->path);
	json_add_text(out, "target_kind", row->target_kind);
	json_add_text(out, "target", row->target_id);
	json_add_text(out, "conversation", row->conversation);
	json_add_text(out, "result", row->result);
	json_add_whole(out, "status", row->status);
	json_add_text(out, "request_id", row->request_id);
	add_object(out, "before", row->before_json);
	add_object(out, "after", row->after_json);
	json_end_object(out);
}

static void add_hex(struct buf *out, const char *name, const unsigned char *bytes, size_t size)
{
	char hex[AUDIT_SIGNATURE_HEX_SIZE];

	assert(2 * size < sizeof(hex));
	hex_encode(bytes, size, hex);
	json_add_text(out, name, hex);
}

static void end_line(struct buf *out)
{
	json_end_object(out);
	buf_add_byte(out, '\n');
}

void audit_export_head_write(struct buf *out, const struct audit_export_head *head)
{
	json_begin_object(out, NULL);
	json_add_whole(out, "v", 1);
	json_add_text(out, "audit", head->chain);
	add_hex(out, "key", head->key, AUDIT_KEY_SIZE);
	json_add_text(out, "filter", head->filter);
	end_line(out);
}

void audit_export_row_write(struct buf *out, struct span row,
                            const unsigned char hash[AUDIT_HASH_SIZE])
{
	assert(row.size > 1 && row.data[row.size - 1] == '}');
	buf_add(out, row.data, row.size - 1);
	add_hex(out, "hash", hash, AUDIT_HASH_SIZE);
	end_line(out);
}

void audit_export_hidden_write(struct buf *out, int64_t sequence,
                               const unsigned char digest[AUDIT_HASH_SIZE],
                               const unsigned char hash[AUDIT_HASH_SIZE])
{
	json_begin_object(out, NULL);
	json_add_whole(out, "v", 1);
	json_add_whole(out, "hidden", sequence);
	add_hex(out, "digest", digest, AUDIT_HASH_SIZE);
	add_hex(out, "hash", hash, AUDIT_HASH_SIZE);
	end_line(out);
}

void audit_export_checkpoint_write(struct buf *out, const struct audit_checkpoint *c,
                                   const unsigned char key[AUDIT_KEY_SIZE],
                                   const unsigned char signature[AUDIT_SIGNATURE_SIZE])
{
	json_begin_object(out, NULL);
	json_add_whole(out, "v", 1);
	json_add_whole(out, "checkpoint", c->sequence);
	json_add_whole(out, "at_ms", c->at);
	add_hex(out, "hash", c->hash, AUDIT_HASH_SIZE);
	add_hex(out, "key", key, AUDIT_KEY_SIZE);
	add_hex(out, "signature", signature, AUDIT_SIGNATURE_SIZE);
	end_line(out);
}
