/* SPDX-License-Identifier: Apache-2.0 */
/* What git prints: a status, a log, a complaint, an address; the input's first byte says which. */
#include "git/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena a = {0};
	struct span text = {(const char *)data + 1, size - 1};
	struct git_status status;
	struct git_log log;
	struct error err;

	if (size == 0)
		return 0;
	switch (data[0] % 4) {
	case 0:
		(void)!git_parse_status(&a, text, &status, &err);
		break;
	case 1:
		(void)!git_parse_log(&a, text, &log, &err);
		break;
	case 2:
		(void)git_parse_complaint(text);
		break;
	default:
		if (git_check_url(arena_copy(&a, text), &err) == 0)
			(void)git_server_of(&a, arena_copy(&a, text));
		break;
	}
	return 0;
}
