/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/ended.h — sandboxes whose end the provider has reported. */
#pragma once

#include "base/id.h"
#include "provider/end.h"

struct fleet;

/* A worker reconciles its row. */
struct ended_sandbox {
	struct ended_sandbox *next;
	char id[ID_SIZE + 1];
	struct provider_end end;
};
/* Reconciles the sandboxes whose end the provider has reported. Any worker. */
void ended_reconcile(struct fleet *f);
