/* SPDX-License-Identifier: Apache-2.0 */
/* image/server_sums.h — counts and digests of the parts of a server's archive; the writer and the
 * reader compute the same. Private to this folder. */
#pragma once

#include <archive_entry.h>
#include <sodium.h>

#include "image/server_archive.h"

#define SERVER_ATTRIBUTES_MAX 128
#define SERVER_MANIFEST "manifest.json"
#define SERVER_END "end.json"

struct server_sums {
	struct server_contents contents;
	crypto_hash_sha256_state states[SERVER_PARTS_MAX];
	unsigned current; /* the part of the entry that was added last */
	int64_t offset;   /* the end of its data */
};
/* Counts and digests an entry without its data. */
MUST_CHECK int server_sums_entry(struct server_sums *s, struct archive_entry *entry,
                                 struct error *err);
/* Data of this entry; what lies between two calls is a hole. */
void server_sums_data(struct server_sums *s, int64_t offset, struct span bytes);
/* Computes the digests. */
void server_sums_end(struct server_sums *s);
/* The text of end.json, and whether it says the same. */
void server_sums_write(const struct server_sums *s, struct buf *out);
MUST_CHECK int server_sums_compare(const struct server_sums *s, struct span text,
                                   struct error *err);
