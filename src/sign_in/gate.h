/* SPDX-License-Identifier: Apache-2.0 */
/* sign_in/gate.h — limits how many password hashes are computed at once. Any thread.
 *
 * A hash takes 64 MiB and a processor for a tenth of a second, and callers without an account can
 * ask for one. GATE_RUNNING_MAX run at once; GATE_WAITING_MAX more wait, on their worker threads,
 * for at most GATE_WAIT_MS; others are refused. */
#pragma once

#include "account/password.h"

#define GATE_RUNNING_MAX 2
#define GATE_WAITING_MAX 6
#define GATE_WAIT_MS 10000

struct password_gate;
struct password_gate *password_gate_new(void);
void password_gate_free(struct password_gate *g); /* NULL is fine */
/* password_hash. ERROR_UNAVAILABLE when too many wait, or after GATE_WAIT_MS. */
MUST_CHECK int password_gate_hash(struct password_gate *g, const char *password,
                                  char ret[PASSWORD_HASH_SIZE], struct error *err);
/* password_matches. A hash "" costs the time of another and matches nothing: the time must not
 * tell which accounts exist. */
MUST_CHECK int password_gate_check(struct password_gate *g, const char *hash, const char *password,
                                   bool *ret_matches, struct error *err);
