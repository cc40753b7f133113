/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/usage_reason.h — what the active time of a sandbox is charged to. */
#pragma once

#include "base/error.h"

/* What a sandbox was active for, or what kept data cost. */
enum usage_reason {
	USAGE_IDLE,      /* no use */
	USAGE_AGENT_RUN, /* calls that named their run */
	USAGE_EXEC,
	USAGE_CODE,
	USAGE_FILE_OPS,
	USAGE_TERMINAL,
	/* kept data, without active time: */
	USAGE_STORAGE, /* files of a resting sandbox, and artifacts */
	USAGE_VOLUME,
	USAGE_SNAPSHOT,
	USAGE_BACKUP,
	USAGE_REASON_COUNT,
};
const char *usage_reason_name(enum usage_reason reason);

#define USAGE_RUN_MAX 64
/* A run's label: 1..64 characters of [A-Za-z0-9._:/@-]. */
MUST_CHECK int usage_run_check(const char *run, struct error *err);

#define USAGE_CONVERSATION_MAX 128
/* A conversation's name: up to 128 characters of [A-Za-z0-9._:@/+=-]. NULL and "" = none. */
MUST_CHECK int usage_conversation_check(const char *conversation, struct error *err);
