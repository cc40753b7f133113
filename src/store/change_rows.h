/* SPDX-License-Identifier: Apache-2.0 */
/* store/change_rows.h — private: how query.c collects changes (changes.h). */
#pragma once

#include "store/query.h"

struct store_changes;

/* The collection of this thread, or NULL. */
struct store_changes *changes_current(void);
/* A transaction begins, or is run again. */
void changes_begin(struct store_changes *c);
void changes_rewind(struct store_changes *c);
bool changes_wants(enum query_name query);
/* Runs the query and adds what it changes. As query_run. */
MUST_CHECK int changes_run(struct store_connection *c, enum query_name query, const void *takes,
                           struct rows *rows, struct error *err);
