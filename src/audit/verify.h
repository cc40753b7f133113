/* SPDX-License-Identifier: Apache-2.0 */
/* audit/verify.h — checks an export of the audit, line by line, without a server.
 *
 * The verifier reads the bytes of strangers: it accepts exactly what audit.h writes. It keeps the
 * last hash only, so the size of an export has no limit; a line has AUDIT_LINE_MAX. */
#pragma once

#include "audit/audit.h"

#define AUDIT_CHAIN_MAX 64
#define AUDIT_FILTER_MAX 1024

struct audit_verifier {
	/* Expectations of the caller. */
	const unsigned char *key; /* of the server; NULL = the export's own key is believed */
	const struct audit_checkpoint *known; /* that the export must contain, or NULL */

	/* What was read until now. */
	uint64_t lines, rows, hidden, checkpoints;
	int64_t first, last; /* numbers of rows; 0 = none yet */
	int64_t signed_at;   /* unix ms, of the last checkpoint */
	int64_t base; /* the number of the checkpoint that stands before the first row; 0 = none */
	bool has_head, has_base, is_signed, has_known;
	bool is_told; /* a row says that retention dropped the rows up to `base` */
	char chain[AUDIT_CHAIN_MAX + 1], filter[AUDIT_FILTER_MAX + 1];
	unsigned char export_key[AUDIT_KEY_SIZE], hash[AUDIT_HASH_SIZE];
};

/* `line` without its line break. The error names the line and what is wrong with it. After an
 * error the verifier may not be used any more. */
MUST_CHECK int audit_verify_line(struct audit_verifier *v, struct span line, struct error *err);
/* After the last line: the newest row must be signed. */
MUST_CHECK int audit_verify_end(const struct audit_verifier *v, struct error *err);
