/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <ctype.h>

static int is_inside(const char *at)
{
	return isalpha((unsigned char)*at) || (*at == '\'' && isalpha((unsigned char)at[1]));
}

long words_add(struct table *t, char *line)
{
	long count = 0;

	while (*line) {
		char *start = line;
		if (!isalpha((unsigned char)*line)) {
			line++;
			continue;
		}
		for (; is_inside(line); line++)
			*line = (char)tolower((unsigned char)*line);
		if (table_add(t, start, (size_t)(line - start)) < 0)
			return -1;
		count++;
	}
	return count;
}
