/* SPDX-License-Identifier: Apache-2.0 */
#include "store/column_rows.h"

/* The words are what the database holds: they may be added to, never changed. */
enum { build_state_words = BUILD_STATE_COUNT };

static const char *build_state_word(unsigned value)
{
	return build_state_name((enum build_state)value);
}

const struct column columns_of_build_record[] = {
        TEXT_OF(build_record, id),
        TEXT_OF(build_record, project_id),
        TEXT_OF(build_record, key_id),
        TEXT_OF(build_record, name),
        TEXT_OF(build_record, source),
        TEXT_OF(build_record, template_id),
        CHOICE_OF(build_record, state, build_state),
        WHOLE_OF(build_record, step),
        WHOLE_OF(build_record, step_count),
        WHOLE_OF(build_record, cached_count),
        WHOLE_OF(build_record, exit_code),
        TEXT_OF(build_record, message),
        TEXT_OF(build_record, sandbox_id),
        TEXT_OF(build_record, node),
        WHOLE_OF(build_record, log_lines),
        WHOLE_OF(build_record, created_at),
        WHOLE_OF(build_record, started_at),
        WHOLE_OF(build_record, ended_at),
        END,
};

const struct column columns_of_build_page[] = {
        FILTER_OF(build_page, project_id), FILTER_OF(build_page, name),
        WHOLE_OF(build_page, page_at),     TEXT_OF(build_page, page_id),
        WHOLE_OF(build_page, limit),       END,
};

const struct column columns_of_build_chunk[] = {
        TEXT_OF(build_chunk, build_id),
        WHOLE_OF(build_chunk, first_line),
        WHOLE_OF(build_chunk, line_count),
        TEXT_OF(build_chunk, text),
        END,
};

const struct column columns_of_build_log_page[] = {
        TEXT_OF(build_log_page, build_id),
        WHOLE_OF(build_log_page, since),
        WHOLE_OF(build_log_page, limit),
        END,
};

const struct column columns_of_cached_layer[] = {
        TEXT_OF(cached_layer, project_id),  TEXT_OF(cached_layer, node),
        TEXT_OF(cached_layer, key),         TEXT_OF(cached_layer, snapshot_id),
        WHOLE_OF(cached_layer, size_bytes), WHOLE_OF(cached_layer, created_at),
        WHOLE_OF(cached_layer, used_at),    END,
};

const struct column columns_of_build_cache_page[] = {
        TEXT_OF(build_cache_page, node),          FILTER_OF(build_cache_page, project_id),
        FILTER_OF(build_cache_page, template_id), WHOLE_OF(build_cache_page, before),
        WHOLE_OF(build_cache_page, limit),        END,
};

const struct column columns_of_snapshot_ref[] = {TEXT_OF(snapshot_ref, id), END};
