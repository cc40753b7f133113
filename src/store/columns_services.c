/* SPDX-License-Identifier: Apache-2.0 */
#include "store/column_rows.h"
#include "store/services.h"

/* The words are what the database holds: they may be added to, never changed. */
enum {
	service_wish_words = SERVICE_WISH_COUNT,
	service_restart_words = SERVICE_RESTART_COUNT,
};

static const char *service_wish_word(unsigned value)
{
	return service_wish_name((enum service_wish)value);
}

static const char *service_restart_word(unsigned value)
{
	return service_restart_name((enum service_restart)value);
}

const struct column columns_of_service_record[] = {
        TEXT_OF(service_record, id),
        TEXT_OF(service_record, sandbox_id),
        TEXT_OF(service_record, name),
        TEXT_OF(service_record, command),
        TEXT_OF(service_record, args_json),
        TEXT_OF(service_record, cwd),
        TEXT_OF(service_record, run_as),
        SECRET_OF(service_record, env_json, "services"),
        CHOICE_OF(service_record, restart, service_restart),
        WHOLE_OF(service_record, failures_max),
        WHOLE_OF(service_record, delay_ms),
        WHOLE_OF(service_record, stop_ms),
        BOOL_OF(service_record, keeps_awake),
        CHOICE_OF(service_record, wish, service_wish),
        WHOLE_OF(service_record, generation),
        BOOL_OF(service_record, is_told),
        WHOLE_OF(service_record, created_at),
        WHOLE_OF(service_record, updated_at),
        END,
};

const struct column columns_of_service_ref[] = {
        TEXT_OF(service_ref, sandbox_id),
        TEXT_OF(service_ref, name),
        END,
};

const struct column columns_of_service_change[] = {
        TEXT_OF(service_change, sandbox_id),
        TEXT_OF(service_change, name),
        CHOICE_OF(service_change, wish, service_wish),
        WHOLE_OF(service_change, now),
        END,
};
