/* SPDX-License-Identifier: Apache-2.0 */
#include "store/addresses.h"

#include "base/bytes.h"
#include "store/column_rows.h"
#include "store/query.h"

COLUMNS_OF(address_record);
COLUMNS_OF(address_page);

/* Users first: the others look at them. */
static const enum query_name lowering[] = {
        QUERY_ADDRESS_LOWER_USERS,
        QUERY_ADDRESS_LOWER_MEMBERS,
        QUERY_ADDRESS_LOWER_ORGANIZATION_MEMBERS,
        QUERY_ADDRESS_LOWER_KEYS,
        QUERY_ADDRESS_LOWER_MAKERS,
        QUERY_ADDRESS_LOWER_INVITERS,
        QUERY_ADDRESS_LOWER_SANDBOXES,
};

static int run_lowering(struct store_connection *c, UNUSED void *context, struct error *err)
{
	for (size_t i = 0; i < COUNT_OF(lowering); i++)
		if (query_run(c, lowering[i], NULL, NULL, err) < 0)
			return -1;
	return 0;
}

int store_addresses_lower(struct store *s, struct arena *a, struct address_list *ret,
                          int64_t *ret_lowered, struct error *err)
{
	const struct address_page page = {STORE_ADDRESSES_TOLD};
	int64_t before, after;

	*ret = (struct address_list){.count = 0};
	*ret_lowered = 0;
	if (store_count_query(s, QUERY_ADDRESS_COUNT_RAISED, NULL, &before, err) < 0)
		return -1;
	if (before == 0)
		return 0;
	if (store_change(s, run_lowering, NULL, err) < 0 ||
	    store_count_query(s, QUERY_ADDRESS_COUNT_RAISED, NULL, &after, err) < 0)
		return -1;
	*ret_lowered = before - after;
	return store_list_query(s, QUERY_ADDRESS_LIST_RAISED, &page, LIST_INTO(a, ret), err);
}

int store_address_is_named(struct store *s, const char *address, bool *ret, struct error *err)
{
	const struct address_record wanted = {.address = address};
	int64_t count;

	if (store_count_query(s, QUERY_ADDRESS_COUNT_NAMED, &wanted, &count, err) < 0)
		return -1;
	*ret = count > 0;
	return 0;
}
