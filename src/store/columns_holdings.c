/* SPDX-License-Identifier: Apache-2.0 */
#include "store/column_rows.h"
#include "store/holdings.h"

/* The words are what the database holds: they may be added to, never changed. */
enum { usage_reason_words = USAGE_REASON_COUNT };

static const char *usage_reason_word(unsigned value)
{
	return usage_reason_name((enum usage_reason)value);
}

const struct column columns_of_holding_record[] = {
        TEXT_OF(holding_record, id),
        TEXT_OF(holding_record, project_id),
        TEXT_OF(holding_record, key_id),
        TEXT_OF(holding_record, sandbox_id),
        CHOICE_OF(holding_record, reason, usage_reason),
        BOOL_OF(holding_record, changes),
        WHOLE_OF(holding_record, since),
        WHOLE_OF(holding_record, bytes),
        WHOLE_OF(holding_record, measured_at),
        WHOLE_OF(holding_record, metered_at),
        WHOLE_OF(holding_record, unbilled_nano),
        END,
};

const struct column columns_of_holding_page[] = {
        TEXT_OF(holding_page, node),   WHOLE_OF(holding_page, before), TEXT_OF(holding_page, after),
        FILTER_OF(holding_page, only), WHOLE_OF(holding_page, limit),  END,
};

const struct column columns_of_holding_mark[] = {
        TEXT_OF(holding_mark, id),
        WHOLE_OF(holding_mark, seen_metered_at),
        WHOLE_OF(holding_mark, bytes),
        WHOLE_OF(holding_mark, measured_at),
        WHOLE_OF(holding_mark, metered_at),
        WHOLE_OF(holding_mark, unbilled_nano),
        END,
};

const struct column columns_of_storage_look[] = {
        TEXT_OF(storage_look, project_id),
        TEXT_OF(storage_look, id),
        WHOLE_OF(storage_look, before),
        END,
};

const struct column columns_of_project_storage[] = {
        WHOLE_OF(project_storage, templates),
        WHOLE_OF(project_storage, snapshots),
        WHOLE_OF(project_storage, backups),
        WHOLE_OF(project_storage, volumes),
        END,
};
