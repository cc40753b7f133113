/* SPDX-License-Identifier: Apache-2.0 */
#include "store/access.h"
#include "store/approvals.h"
#include "store/column_rows.h"
#include "store/peers.h"
#include "store/skills.h"
#include "store/vault.h"

/* The words are what the database holds: they may be added to, never changed. */
enum { approval_state_words = APPROVAL_STATE_COUNT };

static const char *approval_state_word(unsigned value)
{
	return approval_state_name((enum approval_state)value);
}

const struct column columns_of_approval_record[] = {
        TEXT_OF(approval_record, id),          TEXT_OF(approval_record, project_id),
        TEXT_OF(approval_record, key_id),      TEXT_OF(approval_record, conversation_id),
        TEXT_OF(approval_record, origin_json), TEXT_OF(approval_record, sandbox_id),
        TEXT_OF(approval_record, tool),        TEXT_OF(approval_record, input),
        HASH_OF(approval_record, hash),        CHOICE_OF(approval_record, state, approval_state),
        TEXT_OF(approval_record, note),        TEXT_OF(approval_record, decided_by),
        WHOLE_OF(approval_record, created_at), WHOLE_OF(approval_record, decided_at),
        WHOLE_OF(approval_record, expires_at), END,
};

const struct column columns_of_approval_filter[] = {
        TEXT_OF(approval_filter, project_id),
        FILTER_OF(approval_filter, state),
        WHOLE_OF(approval_filter, now),
        WHOLE_OF(approval_filter, limit),
        END,
};

const struct column columns_of_approval_decision[] = {
        TEXT_OF(approval_decision, project_id),
        TEXT_OF(approval_decision, id),
        CHOICE_OF(approval_decision, from, approval_state),
        CHOICE_OF(approval_decision, to, approval_state),
        TEXT_OF(approval_decision, note),
        TEXT_OF(approval_decision, decided_by),
        WHOLE_OF(approval_decision, now),
        WHOLE_OF(approval_decision, expires_at),
        END,
};

const struct column columns_of_skill_record[] = {
        TEXT_OF(skill_record, id),
        TEXT_OF(skill_record, project_id),
        TEXT_OF(skill_record, name),
        TEXT_OF(skill_record, description),
        TEXT_OF(skill_record, files_json),
        WHOLE_OF(skill_record, file_count),
        WHOLE_OF(skill_record, size_bytes),
        WHOLE_OF(skill_record, updated_at),
        END,
};

const struct column columns_of_server_key[] = {
        TEXT_OF(server_key, id),
        SECRET_OF(server_key, secret, "server_keys"),
        END,
};

const struct column columns_of_peer_record[] = {
        TEXT_OF(peer_record, node),
        TEXT_OF(peer_record, url),
        WHOLE_OF(peer_record, seen_at),
        END,
};

const struct column columns_of_vault_record[] = {
        TEXT_OF(vault_record, id),
        TEXT_OF(vault_record, project_id),
        TEXT_OF(vault_record, name),
        SECRET_OF(vault_record, value, "vault"),
        TEXT_OF(vault_record, metadata_json),
        WHOLE_OF(vault_record, version),
        WHOLE_OF(vault_record, created_at),
        WHOLE_OF(vault_record, updated_at),
        END,
};
