/* SPDX-License-Identifier: Apache-2.0 */
/* audit/audit.h — rows of the audit, their chain of hashes, and signed checkpoints. Pure.
 *
 * The text of a row is one JSON object, always with the same members in the same order. Its digest
 * is the SHA-256 of that text; the row's hash covers its number, the hash of the row before it and
 * its digest. So a changed, removed, inserted or reordered row breaks every later hash. A
 * checkpoint is a signature (Ed25519) of the newest hash: it shows that the server made the rows
 * up to there. docs/operate/audit.md is the description for people that write their own verifier.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define AUDIT_HASH_SIZE 32
#define AUDIT_KEY_SIZE 32 /* of a public key, and of the seed of a private one */
#define AUDIT_SIGNATURE_SIZE 64
#define AUDIT_HEX_SIZE 65            /* of a hash or a key, with its NUL */
#define AUDIT_SIGNATURE_HEX_SIZE 129 /* the same of a signature */
/* Bytes of a row: of each text that a client chooses, of a path, and of before and after. */
#define AUDIT_TEXT_MAX 256
#define AUDIT_PATH_MAX 512
#define AUDIT_CHANGE_MAX 8192
#define AUDIT_LINE_MAX (64 * 1024)

/* A row without its hash. Texts are clean (audit_clean); "" = none. */
struct audit_row {
	int64_t sequence;           /* from 1, without gaps */
	int64_t at;                 /* unix ms */
	const char *id;             /* of the event, unique; the spool knows written events by it */
	const char *node, *version; /* of the server that saw the event */
	const char *project_id, *user_id, *key_id;
	const char *via; /* key, session, link, token, sandbox, public, system */
	const char *address, *user_agent;
	const char *action, *method, *path; /* action: "projects.update" */
	const char *target_kind, *target_id;
	const char *conversation;
	const char *result;                   /* ok, refused, failed, interrupted */
	int64_t status;                       /* of HTTP; 0 = none */
	const char *before_json, *after_json; /* objects of the changed members */
	const char *request_id;
};

/* Appends the text, without a line break. */
void audit_row_write(struct buf *out, const struct audit_row *row);

/* Appends at most `max` bytes: invalid UTF-8, control characters (also C1) and characters that
 * change the direction of text become '?'. */
void audit_clean(struct buf *out, struct span text, size_t max);

void audit_digest(struct span row, unsigned char ret[AUDIT_HASH_SIZE]);
/* The hash of row `sequence`. Before row 1, `previous` is zeroes. */
void audit_hash(int64_t sequence, const unsigned char previous[AUDIT_HASH_SIZE],
                const unsigned char digest[AUDIT_HASH_SIZE], unsigned char ret[AUDIT_HASH_SIZE]);

struct audit_checkpoint {
	const char *chain;                   /* id of the chain: a database has one */
	int64_t sequence;                    /* of the last row that it covers */
	int64_t at;                          /* unix ms */
	unsigned char hash[AUDIT_HASH_SIZE]; /* of that row */
};
/* The public key of a seed. */
void audit_public_key(const unsigned char seed[AUDIT_KEY_SIZE], unsigned char ret[AUDIT_KEY_SIZE]);
void audit_sign(const struct audit_checkpoint *c, const unsigned char seed[AUDIT_KEY_SIZE],
                unsigned char ret[AUDIT_SIGNATURE_SIZE]);
bool audit_signature_is_of(const unsigned char signature[AUDIT_SIGNATURE_SIZE],
                           const struct audit_checkpoint *c,
                           const unsigned char key[AUDIT_KEY_SIZE]);

/* The lines of an export, each with its line break. */

/* The head: `filter` = "" promises that every row is shown. */
struct audit_export_head {
	const char *chain, *filter;
	unsigned char key[AUDIT_KEY_SIZE];
};
void audit_export_head_write(struct buf *out, const struct audit_export_head *head);
/* A shown row: its text with the member "hash" at its end. */
void audit_export_row_write(struct buf *out, struct span row,
                            const unsigned char hash[AUDIT_HASH_SIZE]);
/* A row that the filter leaves out: its digest only. */
void audit_export_hidden_write(struct buf *out, int64_t sequence,
                               const unsigned char digest[AUDIT_HASH_SIZE],
                               const unsigned char hash[AUDIT_HASH_SIZE]);
void audit_export_checkpoint_write(struct buf *out, const struct audit_checkpoint *c,
                                   const unsigned char key[AUDIT_KEY_SIZE],
                                   const unsigned char signature[AUDIT_SIGNATURE_SIZE]);
