/* SPDX-License-Identifier: Apache-2.0 */
#include "base/nearest.h"

#define NAME_SIZE_MAX 40
#define SHORT_NAME_SIZE 4

static size_t smaller_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t edits_max(struct span name)
{
	return name.size > SHORT_NAME_SIZE ? 2 : 1;
}

/* The distance of Damerau and Levenshtein, in which no byte is edited twice. Of the table only the
 * rows for `i` bytes of `from` and for one and two bytes less are kept. */
static size_t count_edits(struct span from, struct span to)
{
	size_t rows[3][NAME_SIZE_MAX + 1];

	for (size_t j = 0; j <= to.size; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= from.size; i++) {
		size_t *now = rows[i % 3], *one = rows[(i + 2) % 3], *two = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= to.size; j++) {
			char a = from.data[i - 1], b = to.data[j - 1];

			now[j] = smaller_size(one[j - 1] + (a != b),
			                      smaller_size(now[j - 1], one[j]) + 1);
			if (i > 1 && j > 1 && a == to.data[j - 2] && b == from.data[i - 2])
				now[j] = smaller_size(now[j], two[j - 2] + 1);
		}
	}
	return rows[from.size % 3][to.size];
}

void nearest_offer(struct nearest *nearest, const char *offer)
{
	struct span name = nearest->name, other = span_of(offer);
	size_t edits;

	if (name.size > NAME_SIZE_MAX || other.size > NAME_SIZE_MAX)
		return;
	edits = count_edits(name, other);
	if (edits > edits_max(name) || edits >= name.size)
		return;
	if (!nearest->found || edits < nearest->edits) {
		nearest->found = offer;
		nearest->edits = edits;
	}
}
