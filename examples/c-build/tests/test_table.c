/* SPDX-License-Identifier: Apache-2.0 */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"
#include "words.h"

static void an_empty_table_counts_nothing(void)
{
	struct table t = {0};

	assert(table_count(&t, "word") == 0);
	table_done(&t);
}

static void words_are_cut_and_lowered(void)
{
	struct table t = {0};
	char line[] = "Don't stop -- don't 'quote' 42 x2y!\n";

	assert(words_add(&t, line) == 6);
	assert(table_count(&t, "don't") == 2);
	assert(table_count(&t, "quote") == 1);
	assert(table_count(&t, "x") == 1 && table_count(&t, "y") == 1);
	assert(table_count(&t, "42") == 0);
	table_done(&t);
}

static void a_prefix_is_another_word(void)
{
	struct table t = {0};

	assert(!table_add(&t, "table", 5) && !table_add(&t, "tables", 6) &&
	       !table_add(&t, "tab", 3));
	assert(table_count(&t, "table") == 1 && table_count(&t, "ta") == 0);
	table_done(&t);
}

static void thousands_of_words_are_sorted(void)
{
	struct table t = {0};
	char word[16];

	for (int i = 0; i < 5000; i++)
		for (int times = 0; times <= (i == 1234); times++)
			assert(!table_add(&t, word,
			                  (size_t)snprintf(word, sizeof(word), "w%04d", i)));
	struct entry *entries = table_sorted(&t);
	assert(t.used == 5000 && entries[0].count == 2 && !strcmp(entries[0].word, "w1234"));
	assert(!strcmp(entries[1].word, "w0000") && !strcmp(entries[4999].word, "w4999"));
	free(entries);
	table_done(&t);
}

int main(void)
{
	an_empty_table_counts_nothing();
	words_are_cut_and_lowered();
	a_prefix_is_another_word();
	thousands_of_words_are_sorted();
	puts("test_table: 4 passed");
	return 0;
}
