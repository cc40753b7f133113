/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as /etc/passwd and /etc/group of a hostile sandbox, parted by the first NUL. */
#include <stdlib.h>

#include "agent/user.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"user", "1000", "root", ""};
	struct span group = {(const char *)data, size}, passwd;

	(void)span_split(&group, '\0', &passwd);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct user user;
		struct error err;

		if (user_parse(passwd, group, names[i], &user, &err) < 0)
			continue;
		if (user.group_count < 1 || user.group_count > USER_GROUPS_MAX ||
		    user.uid == (uid_t)-1 || user.gid == (gid_t)-1)
			abort();
	}
	return 0;
}
