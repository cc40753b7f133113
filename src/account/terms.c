/* SPDX-License-Identifier: Apache-2.0 */
#include "account/account.h"

int account_term_resolve(const struct account_term *term, int64_t *ret_expires_at,
                         struct error *err)
{
	int64_t at = term->expires_at;

	if (at && term->expires_in_ms)
		return FAIL(err, ERROR_INVALID, "give either expires_at or expires_in_ms");
	if (term->expires_in_ms < 0 || term->expires_in_ms > ACCOUNT_KEY_LIFE_MAX_MS)
		return FAIL(err, ERROR_INVALID, "expires_in_ms: at most ten years");
	if (term->expires_in_ms)
		at = term->now + term->expires_in_ms;
	if (at && at <= term->now)
		return FAIL(err, ERROR_INVALID, "expires_at: this time has passed");
	if (at && at - term->now > ACCOUNT_KEY_LIFE_MAX_MS)
		return FAIL(err, ERROR_INVALID, "expires_at: at most ten years from now");
	*ret_expires_at = at;
	return 0;
}
