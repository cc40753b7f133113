/* SPDX-License-Identifier: Apache-2.0 */
/* tally — counts the words of a text. Usage: tally [-n COUNT] < TEXT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "table.h"
#include "words.h"

#if !HAVE_GETLINE
#error "this program reads lines by getline(3)"
#endif

static long read_all(struct table *t)
{
	char *line = NULL;
	size_t size = 0;
	long words = 0, added = 0;

	while (added >= 0 && getline(&line, &size, stdin) >= 0) {
		added = words_add(t, line);
		words += added;
	}
	free(line);
	return added < 0 || ferror(stdin) ? -1 : words;
}

static int print(const struct table *t, long words, size_t limit)
{
	struct entry *entries = table_sorted(t);

	if (!entries)
		return -1;
	printf("%ld words, %zu different\n", words, t->used);
	for (size_t i = 0; i < t->used && i < limit; i++)
		printf("%7zu %s\n", entries[i].count, entries[i].word);
	free(entries);
	return fflush(stdout);
}

static size_t parse_limit(int argc, char **argv)
{
	char *end = NULL;

	if (argc == 1)
		return 10;
	if (argc == 3 && !strcmp(argv[1], "-n") && argv[2][0] >= '0' && argv[2][0] <= '9') {
		size_t limit = strtoul(argv[2], &end, 10);
		if (!*end)
			return limit;
	}
	fprintf(stderr, "usage: tally [-n COUNT] < TEXT\n");
	exit(2);
}

int main(int argc, char **argv)
{
	struct table t = {0};
	size_t limit = parse_limit(argc, argv);
	long words = read_all(&t);
	int failed = words < 0 || print(&t, words, limit) < 0;

	if (failed)
		fprintf(stderr, "tally: %s\n", strerror(errno));
	table_done(&t);
	return failed;
}
