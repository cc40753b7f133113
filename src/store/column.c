/* SPDX-License-Identifier: Apache-2.0 */
#include "store/column.h"

#include <assert.h>

#include "base/bytes.h"

int column_choose(const struct column *column, struct span text, unsigned *ret, struct error *err)
{
	assert(column->kind == COLUMN_CHOICE && column->word);
	for (unsigned i = 0; i < column->words; i++) {
		if (span_equals_text(text, column->word(i))) {
			*ret = i;
			return 0;
		}
	}
	return FAIL(err, ERROR_SYSTEM, "the database holds an unknown %s '%.*s'", column->name,
	            (int)(text.size < 40 ? text.size : 40), text.data ? text.data : "");
}

void columns_own(const struct column *columns, struct arena *a, void *record)
{
	for (const struct column *c = columns; c->kind != COLUMN_END; c++) {
		const char **text = (const char **)(void *)((char *)record + c->offset);

		if (c->kind == COLUMN_TEXT || c->kind == COLUMN_SECRET)
			*text = arena_text(a, *text ? *text : "");
	}
}
