/* SPDX-License-Identifier: Apache-2.0 */
/* store/database.h — the durable data of the server; each noun has its own header beside this one.
 *
 * Rules of all calls: any thread may call; a call is one transaction and blocks until its commit.
 * Records are copied into the caller's arena. ERROR_NOT_FOUND and ERROR_CONFLICT (a name or id is
 * taken, or a compare-and-set failed) are ordinary results. Text members of records are never NULL
 * after reading; a NULL is written as "" (or an empty JSON object or list). Times are unix ms; 0 =
 * none. "Lazy" changes survive a crash of Atoll, but a crash of the machine may lose them. SQL
 * stays inside this folder. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct store;

/* `dsn` is "sqlite:/path/atoll.db", "sqlite::memory:", "postgresql://user@host/name", or
 * "postgresql:" and a conninfo string of libpq. Creates and migrates the database. */
MUST_CHECK int store_open(const char *dsn, struct store **ret, struct error *err);

/* Copies a database as it is at one moment, while other processes use it, into the new file `path`,
 * mode 0600. ERROR_UNSUPPORTED for PostgreSQL. */
MUST_CHECK int store_copy(const char *dsn, const char *path, struct error *err);

/* Writes pending touches. NULL is fine. */
void store_close(struct store *store);

MUST_CHECK int store_ping(struct store *store, struct error *err);

/* Call it every few seconds: writes pending touches and keeps the files small. */
MUST_CHECK int store_tidy(struct store *store, struct error *err);

/* store_sync_begin starts flushing all written lazy changes to the disk and does not wait;
 * store_sync_wait waits for that flush. A caller can do other work in between. */
uint64_t store_sync_begin(struct store *store);
MUST_CHECK int store_sync_wait(struct store *store, uint64_t sync, struct error *err);
