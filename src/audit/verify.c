/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/verify.h"

#include <inttypes.h>
#include <string.h>

#define WHERE "line %" PRIu64 ": "
#define HASH_MEMBER ",\"hash\":\""

/* Removes the text from the front; false when the line goes on in another way. */
static bool take_text(struct span *rest, const char *text)
{
	if (!span_starts_with(*rest, text))
		return false;
	span_skip(rest, strlen(text));
	return true;
}

/* No leading zeroes, so that a number has one form. */
static bool take_whole(struct span *rest, int64_t *ret)
{
	size_t size = 0;
	struct error ignored = {0};

	while (size < rest->size && rest->data[size] >= '0' && rest->data[size] <= '9')
		size++;
	if (size == 0 || (size > 1 && rest->data[0] == '0') ||
	    span_parse_whole((struct span){rest->data, size}, 0, INT64_MAX, ret, &ignored) < 0)
		return false;
	span_skip(rest, size);
	return true;
}

/* Lower-case digits only, as hex_encode writes them. */
static bool take_hex(struct span *rest, void *ret, size_t size)
{
	struct span digits;

	if (rest->size < 2 * size)
		return false;
	digits = span_take(rest, 2 * size);
	for (size_t i = 0; i < digits.size; i++)
		if (digits.data[i] >= 'A' && digits.data[i] <= 'F')
			return false;
	return hex_decode(digits, ret, size) == 0;
}

/* A JSON text of printable ASCII without escapes; longer or other texts are refused. */
static bool take_plain(struct span *rest, char *ret, size_t max)
{
	size_t size = 0;

	while (size < rest->size && size < max && rest->data[size] >= ' ' &&
	       rest->data[size] <= '~' && rest->data[size] != '"' && rest->data[size] != '\\')
		size++;
	if (size == rest->size || rest->data[size] != '"')
		return false;
	memcpy(ret, rest->data, size);
	ret[size] = '\0';
	span_skip(rest, size);
	return true;
}

static int refuse_line(const struct audit_verifier *v, const char *kind, struct error *err)
{
	(void)FAIL(err, ERROR_INVALID, WHERE "this is not %s of an audit export", v->lines, kind);
	return FAIL_HINT(err, "make one with: atoll audit export > FILE");
}

static int read_head(struct audit_verifier *v, struct span line, struct error *err)
{
	struct span rest = line;

	if (!take_text(&rest, "{\"v\":1,\"audit\":\"") ||
	    !take_plain(&rest, v->chain, AUDIT_CHAIN_MAX) || !take_text(&rest, "\",\"key\":\"") ||
	    !take_hex(&rest, v->export_key, AUDIT_KEY_SIZE) ||
	    !take_text(&rest, "\",\"filter\":\"") ||
	    !take_plain(&rest, v->filter, AUDIT_FILTER_MAX) || !take_text(&rest, "\"}") ||
	    rest.size > 0)
		return refuse_line(v, "the first line", err);
	if (v->key && memcmp(v->key, v->export_key, AUDIT_KEY_SIZE) != 0)
		return FAIL(err, ERROR_CONFLICT,
		            WHERE "the export is signed by another key than the given one",
		            v->lines);
	v->has_head = true;
	return 0;
}

/* Compares with the caller's checkpoint once the row with its number is reached. */
static int check_known(struct audit_verifier *v, struct error *err)
{
	if (!v->known || v->last != v->known->sequence)
		return 0;
	if (memcmp(v->hash, v->known->hash, AUDIT_HASH_SIZE) != 0)
		return FAIL(err, ERROR_CONFLICT,
		            WHERE "row %" PRId64 " has another hash than the known checkpoint",
		            v->lines, v->last);
	v->has_known = true;
	return 0;
}

/* The rows begin with number 1, or after a checkpoint that covers what is not shown. */
static int check_number(struct audit_verifier *v, int64_t sequence, struct error *err)
{
	if (v->has_base && sequence != v->last + 1)
		return FAIL(err, ERROR_CONFLICT,
		            WHERE "row %" PRId64 " follows row %" PRId64
		                  ": rows were removed, inserted or reordered",
		            v->lines, sequence, v->last);
	if (!v->has_base && sequence != 1)
		return FAIL(err, ERROR_CONFLICT,
		            WHERE "the first row is number %" PRId64
		                  " and no checkpoint stands before it: older rows were removed",
		            v->lines, sequence);
	return 0;
}

static int add_row(struct audit_verifier *v, int64_t sequence,
                   const unsigned char digest[AUDIT_HASH_SIZE],
                   const unsigned char claimed[AUDIT_HASH_SIZE], struct error *err)
{
	unsigned char hash[AUDIT_HASH_SIZE];

	if (check_number(v, sequence, err) < 0)
		return -1;
	audit_hash(sequence, v->hash, digest, hash);
	if (memcmp(hash, claimed, AUDIT_HASH_SIZE) != 0)
		return FAIL(err, ERROR_CONFLICT,
		            WHERE "row %" PRId64 " was changed, or a row before it was", v->lines,
		            sequence);
	memcpy(v->hash, hash, AUDIT_HASH_SIZE);
	if (v->first == 0)
		v->first = sequence;
	v->last = sequence;
	v->has_base = true;
	v->is_signed = false;
	return check_known(v, err);
}

/* The members before and after are the server's own. Quotes in texts of clients are escaped, so
 * that no text can look like these members. */
static void note_truncation(struct audit_verifier *v, struct span row)
{
	static const char begin[] = "\"via\":\"system\",\"address\":\"\",\"user_agent\":\"\","
	                            "\"action\":\"audit.truncate\",\"method\":\"\",";
	static const char after[] = ",\"before\":null,\"after\":{\"from\":";
	const char *at = memmem(row.data, row.size, begin, sizeof(begin) - 1);
	struct span rest;
	int64_t from, to;

	if (!at || v->base == 0)
		return;
	at = memmem(at, row.size - (size_t)(at - row.data), after, sizeof(after) - 1);
	if (!at)
		return;
	rest = span_after(row, (size_t)(at - row.data) + sizeof(after) - 1);
	if (take_whole(&rest, &from) && take_text(&rest, ",\"to\":") && take_whole(&rest, &to) &&
	    take_text(&rest, "}}") && rest.size == 0 && to == v->base)
		v->is_told = true;
}

static int read_row(struct audit_verifier *v, struct span line, struct error *err)
{
	static const size_t end_size = sizeof(HASH_MEMBER) - 1 + AUDIT_HEX_SIZE - 1 + 2;
	unsigned char claimed[AUDIT_HASH_SIZE], digest[AUDIT_HASH_SIZE];
	AUTO(buf_done) struct buf text = BUF(AUDIT_LINE_MAX);
	struct span rest = line, end;
	int64_t sequence;

	if (line.size <= end_size || !take_text(&rest, "{\"v\":1,\"sequence\":") ||
	    !take_whole(&rest, &sequence) || !take_text(&rest, ","))
		return refuse_line(v, "a row", err);
	end = span_after(line, line.size - end_size);
	if (!take_text(&end, HASH_MEMBER) || !take_hex(&end, claimed, AUDIT_HASH_SIZE) ||
	    !take_text(&end, "\"}"))
		return refuse_line(v, "a row", err);
	buf_add(&text, line.data, line.size - end_size);
	buf_add_byte(&text, '}');
	audit_digest(buf_span(&text), digest);
	note_truncation(v, buf_span(&text));
	v->rows++;
	return add_row(v, sequence, digest, claimed, err);
}

static int read_hidden(struct audit_verifier *v, struct span line, struct error *err)
{
	unsigned char claimed[AUDIT_HASH_SIZE], digest[AUDIT_HASH_SIZE];
	struct span rest = line;
	int64_t sequence;

	if (!take_text(&rest, "{\"v\":1,\"hidden\":") || !take_whole(&rest, &sequence) ||
	    !take_text(&rest, ",\"digest\":\"") || !take_hex(&rest, digest, AUDIT_HASH_SIZE) ||
	    !take_text(&rest, "\"" HASH_MEMBER) || !take_hex(&rest, claimed, AUDIT_HASH_SIZE) ||
	    !take_text(&rest, "\"}") || rest.size > 0)
		return refuse_line(v, "a hidden row", err);
	if (v->filter[0] == '\0')
		return FAIL(err, ERROR_CONFLICT,
		            WHERE "row %" PRId64 " is hidden in an export of all rows", v->lines,
		            sequence);
	v->hidden++;
	return add_row(v, sequence, digest, claimed, err);
}

static int check_checkpoint(struct audit_verifier *v, const struct audit_checkpoint *c,
                            struct error *err)
{
	if (!v->has_base) {
		memcpy(v->hash, c->hash, AUDIT_HASH_SIZE);
		v->last = v->base = c->sequence;
		v->has_base = true;
		return 0;
	}
	if (c->sequence != v->last || memcmp(c->hash, v->hash, AUDIT_HASH_SIZE) != 0)
		return FAIL(err, ERROR_CONFLICT,
		            WHERE
		            "the checkpoint of row %" PRId64
		            " does not match the rows before it: they were removed or changed",
		            v->lines, c->sequence);
	return 0;
}

static int read_checkpoint(struct audit_verifier *v, struct span line, struct error *err)
{
	unsigned char key[AUDIT_KEY_SIZE], signature[AUDIT_SIGNATURE_SIZE];
	struct audit_checkpoint c = {.chain = v->chain};
	struct span rest = line;

	if (!take_text(&rest, "{\"v\":1,\"checkpoint\":") || !take_whole(&rest, &c.sequence) ||
	    !take_text(&rest, ",\"at_ms\":") || !take_whole(&rest, &c.at) ||
	    !take_text(&rest, HASH_MEMBER) || !take_hex(&rest, c.hash, AUDIT_HASH_SIZE) ||
	    !take_text(&rest, "\",\"key\":\"") || !take_hex(&rest, key, AUDIT_KEY_SIZE) ||
	    !take_text(&rest, "\",\"signature\":\"") ||
	    !take_hex(&rest, signature, AUDIT_SIGNATURE_SIZE) || !take_text(&rest, "\"}") ||
	    rest.size > 0)
		return refuse_line(v, "a checkpoint", err);
	if (memcmp(key, v->export_key, AUDIT_KEY_SIZE) != 0)
		return FAIL(err, ERROR_CONFLICT,
		            WHERE "the checkpoint of row %" PRId64
		                  " names another key than the head",
		            v->lines, c.sequence);
	if (!audit_signature_is_of(signature, &c, key))
		return FAIL(err, ERROR_CONFLICT,
		            WHERE "the signature of the checkpoint of row %" PRId64 " is wrong",
		            v->lines, c.sequence);
	if (check_checkpoint(v, &c, err) < 0)
		return -1;
	v->checkpoints++;
	v->signed_at = c.at;
	v->is_signed = true;
	return check_known(v, err);
}

int audit_verify_line(struct audit_verifier *v, struct span line, struct error *err)
{
	v->lines++;
	if (line.size > AUDIT_LINE_MAX)
		return FAIL(err, ERROR_TOO_LARGE, WHERE "it is longer than %d bytes", v->lines,
		            AUDIT_LINE_MAX);
	if (!v->has_head)
		return read_head(v, line, err);
	if (span_starts_with(line, "{\"v\":1,\"checkpoint\":"))
		return read_checkpoint(v, line, err);
	if (span_starts_with(line, "{\"v\":1,\"hidden\":"))
		return read_hidden(v, line, err);
	return read_row(v, line, err);
}

int audit_verify_end(const struct audit_verifier *v, struct error *err)
{
	if (!v->has_head)
		return FAIL(err, ERROR_INVALID, "the export is empty");
	if (!v->is_signed && v->has_base)
		return FAIL(err, ERROR_CONFLICT,
		            "no checkpoint follows row %" PRId64
		            ": the end of the export was cut off or is not signed",
		            v->last);
	/* Of an export of some rows, the row that tells may be hidden. */
	if (v->base > 0 && !v->is_told && v->filter[0] == '\0')
		return FAIL(err, ERROR_CONFLICT,
		            "rows 1 to %" PRId64
		            " are missing, and no row says that retention dropped them: they were "
		            "removed",
		            v->base);
	if (v->known && !v->has_known)
		return FAIL(err, ERROR_CONFLICT,
		            "the export does not contain row %" PRId64 " of the known checkpoint",
		            v->known->sequence);
	return 0;
}
