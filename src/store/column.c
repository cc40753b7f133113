/* SPDX-License-Identifier: Apache-2.0 */
#include "store/column.h"

#include <assert.h>

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
