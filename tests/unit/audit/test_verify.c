/* SPDX-License-Identifier: Apache-2.0 */
/* An export of rows verifies, and each way to change it is found. */
#include "unit.h"

#include <stdio.h>

#include "audit/verify.h"

#define ROWS 6
#define LINES_MAX 32
#define CHAIN "cccccccccccccccccccc"

static const unsigned char seed[AUDIT_KEY_SIZE] = "seed of the audit's signing key",
                           other_seed[AUDIT_KEY_SIZE] = "another one";

/* The lines of an export, without line breaks. */
struct export
{
	struct arena arena;
	const char *lines[LINES_MAX];
	size_t count;
	unsigned char hash[AUDIT_HASH_SIZE], digest[AUDIT_HASH_SIZE];
	const struct audit_row *instead; /* of the usual row; NULL: none */
};

static void add_line(struct export *e, struct buf *line)
{
	assert_true(e->count < LINES_MAX && line->size > 0);
	e->lines[e->count++] = arena_copy(&e->arena, (struct span){line->data, line->size - 1});
	buf_done(line);
}

static void add_head(struct export *e, const char *filter)
{
	struct audit_export_head head = {.chain = CHAIN, .filter = filter};
	struct buf line = BUF(AUDIT_LINE_MAX);

	audit_public_key(seed, head.key);
	audit_export_head_write(&line, &head);
	add_line(e, &line);
}

static void chain_row(struct export *e, int64_t sequence, struct buf *text)
{
	const struct audit_row row = {.sequence = sequence,
	                              .at = 1790000000000 + sequence,
	                              .id = "event",
	                              .node = "node",
	                              .version = "1",
	                              .project_id = "default",
	                              .user_id = "ann",
	                              .key_id = "key",
	                              .via = "key",
	                              .address = "127.0.0.1",
	                              .user_agent = "\"quoted\" \\ and more",
	                              .action = "projects.update",
	                              .method = "PATCH",
	                              .path = "/v1/projects/p",
	                              .target_kind = "projects",
	                              .target_id = "p",
	                              .conversation = "",
	                              .result = "ok",
	                              .status = 200,
	                              .before_json = "{\"cpu\":1}",
	                              .after_json = "",
	                              .request_id = "r"};

	audit_row_write(text, e->instead ? e->instead : &row);
	audit_digest(buf_span(text), e->digest);
	audit_hash(sequence, e->hash, e->digest, e->hash);
}

static void add_row(struct export *e, int64_t sequence, bool is_shown)
{
	AUTO(buf_done) struct buf text = BUF(AUDIT_LINE_MAX);
	struct buf line = BUF(AUDIT_LINE_MAX);

	chain_row(e, sequence, &text);
	if (is_shown)
		audit_export_row_write(&line, buf_span(&text), e->hash);
	else
		audit_export_hidden_write(&line, sequence, e->digest, e->hash);
	add_line(e, &line);
}

static void add_checkpoint(struct export *e, int64_t sequence, const unsigned char *with)
{
	struct audit_checkpoint c = {.chain = CHAIN, .sequence = sequence, .at = 1790000000000};
	unsigned char key[AUDIT_KEY_SIZE], signature[AUDIT_SIGNATURE_SIZE];
	struct buf line = BUF(AUDIT_LINE_MAX);

	memcpy(c.hash, e->hash, AUDIT_HASH_SIZE);
	audit_public_key(with, key);
	audit_sign(&c, with, signature);
	audit_export_checkpoint_write(&line, &c, key, signature);
	add_line(e, &line);
}

/* Lines: head, rows 1 to 3, checkpoint, rows 4 to 6, checkpoint. */
static void make_export(struct export *e)
{
	*e = (struct export){.count = 0};
	add_head(e, "");
	for (int64_t i = 1; i <= ROWS; i++) {
		add_row(e, i, true);
		if (i == ROWS / 2 || i == ROWS)
			add_checkpoint(e, i, seed);
	}
}

static int verify(const struct export *e, struct audit_verifier *v, struct error *err)
{
	*err = (struct error){0};
	for (size_t i = 0; i < e->count; i++)
		if (audit_verify_line(v, span_of(e->lines[i]), err) < 0)
			return -1;
	return audit_verify_end(v, err);
}

static void assert_found(struct export *e, const char *word)
{
	struct audit_verifier v = {0};
	struct error err;

	assert_int_equal(verify(e, &v, &err), -1);
	if (!strstr(err.text, word))
		fail_msg("'%s' is not in: %s", word, err.text);
	arena_done(&e->arena);
}

static void drop_line(struct export *e, size_t at)
{
	memmove(&e->lines[at], &e->lines[at + 1], (e->count - at - 1) * sizeof(e->lines[0]));
	e->count--;
}

TEST(a_whole_export_verifies)
{
	struct audit_verifier v = {0};
	struct export e;
	struct error err;

	make_export(&e);
	assert_int_equal(verify(&e, &v, &err), 0);
	assert_int_equal(v.rows, ROWS);
	assert_int_equal(v.checkpoints, 2);
	assert_int_equal(v.first, 1);
	assert_int_equal(v.last, ROWS);
	assert_string_equal(v.chain, CHAIN);
	arena_done(&e.arena);
}

TEST(a_changed_row_is_found_whichever_byte_it_is)
{
	struct export e;

	make_export(&e);
	for (size_t at = 0; at < strlen(e.lines[2]); at++) {
		char *line = arena_text(&e.arena, e.lines[2]);
		const char *whole = e.lines[2];
		struct audit_verifier v = {0};
		struct error err;

		line[at] = line[at] == 'x' ? 'y' : 'x';
		e.lines[2] = line;
		assert_int_equal(verify(&e, &v, &err), -1);
		e.lines[2] = whole;
	}
	arena_done(&e.arena);
}

TEST(a_removed_row_is_found)
{
	struct export e;

	for (size_t at = 1; at <= 7; at++) {
		make_export(&e);
		drop_line(&e, at);
		if (at == 4) { /* a checkpoint between rows is no row */
			arena_done(&e.arena);
			continue;
		}
		assert_found(&e, at == 7 ? "removed or changed" : "removed");
	}
}

TEST(reordered_and_repeated_rows_are_found)
{
	struct export e;
	const char *line;

	make_export(&e);
	line = e.lines[2];
	e.lines[2] = e.lines[3];
	e.lines[3] = line;
	assert_found(&e, "reordered");
	make_export(&e);
	e.lines[3] = e.lines[2];
	assert_found(&e, "inserted");
}

TEST(a_cut_end_is_found)
{
	struct export e;

	make_export(&e);
	e.count--;
	assert_found(&e, "cut off");
	make_export(&e);
	e.count = 3;
	assert_found(&e, "cut off");
	make_export(&e);
	e.count = 0;
	assert_found(&e, "empty");
}

TEST(an_export_that_is_cut_at_a_checkpoint_needs_a_known_checkpoint)
{
	struct audit_checkpoint known = {.sequence = ROWS};
	struct audit_verifier v = {.known = &known};
	struct export e;
	struct error err;

	make_export(&e);
	memcpy(known.hash, e.hash, AUDIT_HASH_SIZE);
	assert_int_equal(verify(&e, &v, &err), 0);
	e.count = 5;
	v = (struct audit_verifier){0};
	assert_int_equal(verify(&e, &v, &err), 0);
	v = (struct audit_verifier){.known = &known};
	assert_int_equal(verify(&e, &v, &err), -1);
	assert_non_null(strstr(err.text, "does not contain"));
	e.count = 9;
	known.hash[0] ^= 1;
	v = (struct audit_verifier){.known = &known};
	assert_int_equal(verify(&e, &v, &err), -1);
	assert_non_null(strstr(err.text, "another hash"));
	arena_done(&e.arena);
}

/* An attacker with the store and without the key can compute hashes. */
TEST(a_chain_that_is_computed_anew_needs_the_key)
{
	unsigned char key[AUDIT_KEY_SIZE];
	struct audit_verifier v = {.key = key};
	struct export e = {.count = 0};
	struct error err;

	add_head(&e, "");
	add_row(&e, 1, true);
	add_checkpoint(&e, 1, other_seed);
	assert_found(&e, "another key");
	audit_public_key(other_seed, key);
	make_export(&e);
	assert_int_equal(verify(&e, &v, &err), -1);
	assert_non_null(strstr(err.text, "another key"));
	arena_done(&e.arena);
}

TEST(a_signature_is_of_its_chain_and_its_row)
{
	struct audit_checkpoint c = {.chain = CHAIN, .sequence = 5, .at = 7};
	unsigned char key[AUDIT_KEY_SIZE], signature[AUDIT_SIGNATURE_SIZE];

	audit_public_key(seed, key);
	audit_sign(&c, seed, signature);
	assert_true(audit_signature_is_of(signature, &c, key));
	c.sequence = 6;
	assert_false(audit_signature_is_of(signature, &c, key));
	c.sequence = 5;
	c.chain = "other";
	assert_false(audit_signature_is_of(signature, &c, key));
	c.chain = CHAIN;
	c.at = 8;
	assert_false(audit_signature_is_of(signature, &c, key));
}

TEST(hidden_rows_keep_the_chain_and_only_a_filter_may_hide)
{
	struct audit_verifier v = {0};
	struct export e = {.count = 0};
	struct error err;

	add_head(&e, "project=p");
	add_row(&e, 1, false);
	add_row(&e, 2, true);
	add_row(&e, 3, false);
	add_checkpoint(&e, 3, seed);
	assert_int_equal(verify(&e, &v, &err), 0);
	assert_int_equal(v.hidden, 2);
	assert_int_equal(v.rows, 1);
	drop_line(&e, 3);
	assert_found(&e, "removed");
	e = (struct export){.count = 0};
	add_head(&e, "");
	add_row(&e, 1, false);
	add_checkpoint(&e, 1, seed);
	assert_found(&e, "hidden");
}

/* Rows 1 to 3 are gone, and row 7 says which: lines head, checkpoint, rows 4 to 7, checkpoint. */
static void make_rest(struct export *e, const struct audit_row *told, const char *filter)
{
	*e = (struct export){.count = 0};
	add_head(e, filter);
	for (int64_t i = 1; i <= ROWS + 1; i++) {
		e->instead = i == ROWS + 1 ? told : NULL;
		add_row(e, i, true);
		if (i <= ROWS / 2)
			e->count--;
		if (i == ROWS / 2 || i == ROWS + 1)
			add_checkpoint(e, i, seed);
	}
}

static struct audit_row telling(const char *after)
{
	return (struct audit_row){.sequence = ROWS + 1,
	                          .at = 1790000000000,
	                          .id = "event",
	                          .node = "node",
	                          .version = "1",
	                          .project_id = "",
	                          .user_id = "",
	                          .key_id = "",
	                          .via = "system",
	                          .address = "",
	                          .user_agent = "",
	                          .action = "audit.truncate",
	                          .method = "",
	                          .path = "",
	                          .target_kind = "audit",
	                          .target_id = "",
	                          .conversation = "",
	                          .result = "ok",
	                          .before_json = "",
	                          .after_json = after,
	                          .request_id = ""};
}

TEST(rows_after_a_dropped_begin_need_its_checkpoint_and_a_row_that_says_so)
{
	struct audit_row told = telling("{\"from\":1,\"to\":3}"),
	                 other = telling("{\"from\":1,\"to\":2}");
	struct audit_verifier v = {0};
	struct export e, rest = {.count = 0};
	struct error err;

	make_rest(&e, &told, "");
	if (verify(&e, &v, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(v.first, 4);
	assert_int_equal(v.base, 3);
	drop_line(&e, 1);
	assert_found(&e, "older rows were removed");
	add_head(&rest, "");
	add_checkpoint(&rest, 3, seed);
	add_row(&rest, 5, true);
	assert_found(&rest, "removed");
	make_rest(&e, &other, "");
	assert_found(&e, "no row says that retention dropped them");
}

/* An attacker who can change the database, but cannot sign, may cut the chain at a checkpoint. */
TEST(a_begin_that_other_hands_have_cut_is_found)
{
	struct audit_row forged = telling("{\"from\":1,\"to\":3}");
	struct export e;

	make_export(&e);
	drop_line(&e, 1);
	drop_line(&e, 1);
	drop_line(&e, 1);
	assert_found(&e, "rows 1 to 3 are missing");
	forged.via = "key";
	make_rest(&e, &forged, "");
	assert_found(&e, "rows 1 to 3 are missing");
	forged = telling("");
	forged.action = "projects.update";
	forged.user_agent = "\",\"action\":\"audit.truncate\",\"method\":\"\",\"before\":null,"
	                    "\"after\":{\"from\":1,\"to\":3}}";
	make_rest(&e, &forged, "");
	assert_found(&e, "rows 1 to 3 are missing");
	make_rest(&e, &forged, "project=p");
	{
		struct audit_verifier v = {0};
		struct error err;

		assert_int_equal(verify(&e, &v, &err), 0);
		assert_false(v.is_told);
	}
	arena_done(&e.arena);
}

TEST(other_bytes_are_refused_and_a_long_line_too)
{
	static const char *const lines[] = {
	        "",
	        "{}",
	        "null",
	        "{\"v\":1,\"audit\":\"a\"}",
	        "{\"v\":1,\"audit\":\"a\\u0022\",\"key\":\"\",\"filter\":\"\"}",
	        "{\"v\":2,\"sequence\":1,\"hash\":\"\"}"};
	char *huge = memory_new(AUDIT_LINE_MAX + 2);
	struct error err = {0};

	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		struct audit_verifier v = {0};

		assert_int_equal(audit_verify_line(&v, span_of(lines[i]), &err), -1);
		v = (struct audit_verifier){.has_head = true};
		assert_int_equal(audit_verify_line(&v, span_of(lines[i]), &err), -1);
	}
	memset(huge, 'a', AUDIT_LINE_MAX + 1);
	assert_int_equal(
	        audit_verify_line(&(struct audit_verifier){.has_head = true}, span_of(huge), &err),
	        -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	free(huge);
}

/* Everybody's verifier depends on these bytes: docs/operate/audit.md has the same ones. */
TEST(the_hash_of_a_known_row_never_changes)
{
	struct export e = {.count = 0};
	AUTO(buf_done) struct buf text = BUF(AUDIT_LINE_MAX);
	char hex[AUDIT_HEX_SIZE];

	chain_row(&e, 1, &text);
	hex_encode(e.hash, AUDIT_HASH_SIZE, hex);
	assert_string_equal(hex,
	                    "fa3ee52e0fa9835b8adadc8c5084621ba8014ad3237016251ee87f1092fe7599");
}

int main(void)
{
	return RUN(CASE(a_whole_export_verifies), CASE(a_changed_row_is_found_whichever_byte_it_is),
	           CASE(a_removed_row_is_found), CASE(reordered_and_repeated_rows_are_found),
	           CASE(a_cut_end_is_found),
	           CASE(an_export_that_is_cut_at_a_checkpoint_needs_a_known_checkpoint),
	           CASE(a_chain_that_is_computed_anew_needs_the_key),
	           CASE(a_signature_is_of_its_chain_and_its_row),
	           CASE(hidden_rows_keep_the_chain_and_only_a_filter_may_hide),
	           CASE(rows_after_a_dropped_begin_need_its_checkpoint_and_a_row_that_says_so),
	           CASE(a_begin_that_other_hands_have_cut_is_found),
	           CASE(other_bytes_are_refused_and_a_long_line_too),
	           CASE(the_hash_of_a_known_row_never_changes));
}
