/* SPDX-License-Identifier: Apache-2.0 */
#include "store/artifacts.h"
#include "store/column_rows.h"

/* The words are what the database holds: they may be added to, never changed. */
enum { artifact_state_words = ARTIFACT_STATE_COUNT };

static const char *artifact_state_word(unsigned value)
{
	return artifact_state_name((enum artifact_state)value);
}

const struct column columns_of_artifact_record[] = {
        TEXT_OF(artifact_record, id),
        TEXT_OF(artifact_record, project_id),
        TEXT_OF(artifact_record, key_id),
        TEXT_OF(artifact_record, sandbox_id),
        TEXT_OF(artifact_record, sandbox_name),
        TEXT_OF(artifact_record, run),
        TEXT_OF(artifact_record, node),
        TEXT_OF(artifact_record, path),
        TEXT_OF(artifact_record, media_type),
        TEXT_OF(artifact_record, sha256),
        TEXT_OF(artifact_record, secret),
        CHOICE_OF(artifact_record, state, artifact_state),
        WHOLE_OF(artifact_record, process),
        TEXT_OF(artifact_record, job),
        WHOLE_OF(artifact_record, size_bytes),
        WHOLE_OF(artifact_record, created_at),
        WHOLE_OF(artifact_record, expires_at),
        WHOLE_OF(artifact_record, metered_at),
        WHOLE_OF(artifact_record, unbilled_nano),
        END,
};

const struct column columns_of_artifact_page[] = {
        FILTER_OF(artifact_page, project_id), FILTER_OF(artifact_page, sandbox_id),
        FILTER_OF(artifact_page, run),        FILTER_OF(artifact_page, job),
        WHOLE_OF(artifact_page, page_at),     TEXT_OF(artifact_page, page_id),
        WHOLE_OF(artifact_page, limit),       END,
};

const struct column columns_of_artifact_due[] = {
        TEXT_OF(artifact_due, node),
        WHOLE_OF(artifact_due, now),
        BOOL_OF(artifact_due, is_boot),
        WHOLE_OF(artifact_due, limit),
        END,
};

const struct column columns_of_artifact_sum[] = {
        WHOLE_OF(artifact_sum, count),
        WHOLE_OF(artifact_sum, size_bytes),
        END,
};

const struct column columns_of_artifact_mark[] = {
        TEXT_OF(artifact_mark, id),
        WHOLE_OF(artifact_mark, seen_metered_at),
        WHOLE_OF(artifact_mark, metered_at),
        WHOLE_OF(artifact_mark, unbilled_nano),
        END,
};
