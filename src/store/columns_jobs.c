/* SPDX-License-Identifier: Apache-2.0 */
#include "store/column_rows.h"
#include "store/channels.h"

/* The words are what the database holds: they may be added to, never changed. */
enum {
	job_state_words = JOB_STATE_COUNT,
	job_channel_words = JOB_CHANNEL_COUNT,
	job_delivery_words = JOB_DELIVERY_COUNT,
	sandbox_state_words = SANDBOX_STATE_COUNT,
};

static const char *job_state_word(unsigned value)
{
	return job_state_name((enum job_state)value);
}

static const char *job_channel_word(unsigned value)
{
	return job_channel_name((enum job_channel)value);
}

static const char *job_delivery_word(unsigned value)
{
	return job_delivery_name((enum job_delivery)value);
}

static const char *sandbox_state_word(unsigned value)
{
	return sandbox_state_name((enum sandbox_state)value);
}

const struct column columns_of_job_record[] = {
        TEXT_OF(job_record, id),
        TEXT_OF(job_record, project_id),
        TEXT_OF(job_record, sandbox_id),
        TEXT_OF(job_record, key_id),
        TEXT_OF(job_record, conversation),
        CHOICE_OF(job_record, channel, job_channel),
        TEXT_OF(job_record, origin_json),
        TEXT_OF(job_record, command),
        WHOLE_OF(job_record, process),
        TEXT_OF(job_record, boot_id),
        CHOICE_OF(job_record, state, job_state),
        BOOL_OF(job_record, is_stopping),
        WHOLE_OF(job_record, exit_code),
        TEXT_OF(job_record, reason),
        TEXT_OF(job_record, cause),
        TEXT_OF(job_record, stdout_json),
        TEXT_OF(job_record, stderr_json),
        WHOLE_OF(job_record, stdout_bytes),
        WHOLE_OF(job_record, stderr_bytes),
        HASH_OF(job_record, token_hash),
        WHOLE_OF(job_record, token_expires_at),
        WHOLE_OF(job_record, created_at),
        WHOLE_OF(job_record, ended_at),
        CHOICE_OF(job_record, delivery, job_delivery),
        WHOLE_OF(job_record, delivery_tries),
        WHOLE_OF(job_record, delivery_status),
        TEXT_OF(job_record, delivery_error),
        WHOLE_OF(job_record, delivery_at),
        TEXT_OF(job_record, keep_root),
        TEXT_OF(job_record, keep_folder),
        TEXT_OF(job_record, keep_user),
        TEXT_OF(job_record, run),
        CHOICE_OF(job_record, told, job_state),
        WHOLE_OF(job_record, started_at),
        CHOICE_OF(job_record, actual, sandbox_state),
        TEXT_OF(job_record, node),
        TEXT_OF(job_record, sandbox_reason),
        END,
};

const struct column columns_of_job_ref[] = {
        FILTER_OF(job_ref, project_id),
        FILTER_OF(job_ref, conversation),
        TEXT_OF(job_ref, id),
        END,
};

const struct column columns_of_job_page[] = {
        TEXT_OF(job_page, project_id),
        TEXT_OF(job_page, conversation),
        FILTER_OF(job_page, sandbox_id),
        FILTER_OF(job_page, state),
        WHOLE_OF(job_page, before),
        WHOLE_OF(job_page, limit),
        END,
};

const struct column columns_of_job_start[] = {
        TEXT_OF(job_start, id),
        TEXT_OF(job_start, boot_id),
        WHOLE_OF(job_start, process),
        WHOLE_OF(job_start, started_at),
        END,
};

const struct column columns_of_job_delivery_change[] = {
        TEXT_OF(job_delivery_change, id),
        WHOLE_OF(job_delivery_change, tries),
        CHOICE_OF(job_delivery_change, delivery, job_delivery),
        WHOLE_OF(job_delivery_change, status),
        WHOLE_OF(job_delivery_change, at),
        TEXT_OF(job_delivery_change, error),
        END,
};

const struct column columns_of_job_delivery_page[] = {
        TEXT_OF(job_delivery_page, project_id),
        FILTER_OF(job_delivery_page, delivery),
        WHOLE_OF(job_delivery_page, before),
        WHOLE_OF(job_delivery_page, limit),
        END,
};

const struct column columns_of_channel_record[] = {
        TEXT_OF(channel_record, id),
        TEXT_OF(channel_record, project_id),
        TEXT_OF(channel_record, name),
        CHOICE_OF(channel_record, kind, job_channel),
        TEXT_OF(channel_record, base_url),
        SECRET_OF(channel_record, token, "channels"),
        WHOLE_OF(channel_record, created_at),
        WHOLE_OF(channel_record, updated_at),
        END,
};

const struct column columns_of_channel_ref[] = {
        TEXT_OF(channel_ref, project_id),
        TEXT_OF(channel_ref, name),
        END,
};
