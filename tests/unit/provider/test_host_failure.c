/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "provider/host_failure.h"
#include "unit.h"

static struct error fail_with(enum error_code code, int sys_errno)
{
	struct error err = {0};

	error_set(&err, code, sys_errno, HERE, "a step");
	return err;
}

TEST(what_the_host_refuses_is_no_mistake_of_the_client)
{
	static const struct {
		enum error_code code;
		int sys_errno;
	} rows[] = {{ERROR_LIMIT, EMFILE},     {ERROR_FORBIDDEN, EROFS}, {ERROR_FORBIDDEN, EPERM},
	            {ERROR_FORBIDDEN, EACCES}, {ERROR_SYSTEM, ENOMEM},   {ERROR_SYSTEM, EAGAIN}};

	for (unsigned i = 0; i < COUNT_OF(rows); i++) {
		struct error err = fail_with(rows[i].code, rows[i].sys_errno);

		host_failure_explain(&err);
		assert_int_equal(err.code, ERROR_UNAVAILABLE);
		assert_true(err.hint[0] != '\0');
		assert_non_null(strstr(err.text, "a step"));
	}
}

TEST(what_the_client_did_stays_the_clients)
{
	static const enum error_code codes[] = {ERROR_INVALID, ERROR_NOT_FOUND, ERROR_CONFLICT,
	                                        ERROR_LIMIT, ERROR_NO_SPACE};

	for (unsigned i = 0; i < COUNT_OF(codes); i++) {
		struct error err = fail_with(codes[i], 0);

		host_failure_explain(&err);
		assert_int_equal(err.code, codes[i]);
		assert_string_equal(err.hint, "");
	}
}

TEST(a_cure_that_is_there_is_kept)
{
	struct error err = fail_with(ERROR_FORBIDDEN, EROFS);

	error_hint(&err, "mount it");
	host_failure_explain(&err);
	assert_string_equal(err.hint, "mount it");
}

TEST(a_failure_has_a_name_for_machines)
{
	struct error full = fail_with(ERROR_NO_SPACE, ENOSPC), late = fail_with(ERROR_TIMEOUT, 0);
	struct error other = fail_with(ERROR_SYSTEM, EIO);

	assert_string_equal(host_failure_find(&full)->name, "disk_full");
	assert_string_equal(host_failure_find(&late)->name, "timeout");
	assert_null(host_failure_find(&other));
}

int main(void)
{
	return RUN(CASE(what_the_host_refuses_is_no_mistake_of_the_client),
	           CASE(what_the_client_did_stays_the_clients), CASE(a_cure_that_is_there_is_kept),
	           CASE(a_failure_has_a_name_for_machines));
}
