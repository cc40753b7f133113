/* SPDX-License-Identifier: Apache-2.0 */
/* An export of the audit from a stranger, and a line of a spool whose disk was damaged.
 * What the verifier accepts must be signed by the key that the caller expects, and the fuzzer has
 * no key: so no row is ever accepted as signed. */
#include <stdint.h>
#include <stdlib.h>

#include "audit/log/parts.h"
#include "audit/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_export(struct span text)
{
	static const unsigned char key[AUDIT_KEY_SIZE] = {0};
	struct audit_verifier v = {0}, pinned = {.key = key};
	struct error err = {0};
	bool is_good = true;
	struct span line;

	while (text.size > 0) {
		(void)span_split(&text, '\n', &line);
		is_good = is_good && audit_verify_line(&v, line, &err) == 0;
		if (!pinned.has_head || is_good)
			(void)!audit_verify_line(&pinned, line, &err);
		if (!is_good)
			return;
	}
	if (audit_verify_end(&v, &err) == 0 && v.rows + v.hidden > 0 && v.checkpoints == 0)
		abort();
}

static void read_line(struct span line)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	struct audit_row row;
	char kind;

	if (!spool_line_parse(&a, line, &kind, &row))
		return;
	audit_row_write(&out, &row);
	if (!out.overflowed && memchr(out.data, '\n', out.size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size};

	read_export(text);
	read_line(text);
	return 0;
}
