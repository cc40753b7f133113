/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the contract suite share. */
#pragma once

#include "unit.h"

#include "base/id.h"
#include "broker_process.h"
#include "provider/provider.h"

struct fixture {
	const struct provider_ops *ops;
	struct broker_process broker;
	struct provider *p;
	struct id id;
	struct sandbox_spec spec;
	struct arena arena;
};
struct check {
	const char *name; /* NULL ends a table */
	void (*run)(struct fixture *f);
	unsigned abilities; /* all are needed */
};
#define REAL_COMMANDS PROVIDER_CAN_FILES /* with files come programs that really run */

#define ROW(function, needed)                                                                      \
	{                                                                                          \
#function, function, needed                                                        \
	}

#define CHECK_OK(call)                                                                             \
	do {                                                                                       \
		struct error err = {0};                                                            \
		if ((call) < 0)                                                                    \
			fail_msg("%s: %s", f->ops->name, err.text);                                \
	} while (0)

int64_t contract_soon(void);
int contract_open(struct fixture *f);
/* The sandbox of f->spec. */
void contract_create(struct fixture *f);
/* Standard output of a shell line in the sandbox of f->id. */
const char *contract_shell(struct fixture *f, const char *line);

/* kept_checks.c: snapshots and volumes. */
extern const struct check contract_kept_checks[];
