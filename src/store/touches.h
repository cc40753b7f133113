/* SPDX-License-Identifier: Apache-2.0 */
/* store/touches.h — last-used times wait here, so that a call costs no commit. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct store;
struct touches;

enum touched { TOUCHED_SANDBOX, TOUCHED_KEY, TOUCHED_LOGIN, TOUCHED_COUNT };
struct touch {
	const char *id;
	int64_t at;
};

struct touches *touches_new(void);
void touches_free(struct touches *t);
void touches_add(struct store *s, enum touched kind, const char *id, int64_t now);
/* The later of the read time and the pending touch. */
int64_t touches_latest(struct store *s, enum touched kind, const char *id, int64_t read);
/* Writes all pending touches in a lazy transaction; failed ones stay pending. */
MUST_CHECK int touches_write(struct store *s, struct error *err);
