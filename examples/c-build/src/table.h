/* SPDX-License-Identifier: Apache-2.0 */
/* table.h — words and how often each came. */
#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>

struct entry {
	char *word;
	size_t count;
};

struct table {
	struct entry *slots; /* open addressing; a free slot has no word */
	size_t capacity, used;
};

void table_done(struct table *t);
/* 0, or -1 without memory. */
int table_add(struct table *t, const char *word, size_t size);
size_t table_count(const struct table *t, const char *word);
/* All entries, commonest first, then by the alphabet; the caller frees the array, not the words. */
struct entry *table_sorted(const struct table *t);

#endif
