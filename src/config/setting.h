/* SPDX-License-Identifier: Apache-2.0 */
/* config/setting.h — settings of an item of a list, such as a provider or a routing rule: a table
 * of their names and kinds. Private to this folder. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum setting_kind {
	SETTING_TEXT,     /* const char * */
	SETTING_WHOLE,    /* int64_t */
	SETTING_NUMBER,   /* double */
	SETTING_BOOL,     /* bool */
	SETTING_MONEY,    /* int64_t in micro-dollars; the text is in dollars */
	SETTING_DURATION, /* int64_t in milliseconds */
};
struct item_setting {
	const char *name; /* NULL ends a table */
	enum setting_kind kind;
	size_t offset;    /* of the member in the item */
	int64_t min, max; /* of whole numbers, numbers and durations */
};

/* NULL: the table has no such setting. */
const struct item_setting *setting_find(const struct item_setting *table, struct span name);
/* Sets the member of `item`. The error says what is expected, without the name. */
MUST_CHECK int setting_set(struct arena *a, const struct item_setting *setting, struct span value,
                           void *item, struct error *err);
/* "a, b, c" */
const char *setting_names(struct arena *a, const struct item_setting *table);
