/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "http/client/async.h"
#include "http/client/client.h"
#include "json/json.h"
#include "provider/e2b/e2b.h"

#define PAGE 100
#define PAGES_MAX 200

static const char *page_path(const struct e2b_page_reader *l, struct arena *a, const char *token)
{
	AUTO(buf_done) struct buf path = BUF(4096);

	buf_addf(&path, "%s%climit=%d", l->path, strchr(l->path, '?') ? '&' : '?', PAGE);
	if (token[0]) {
		buf_add_text(&path, "&nextToken=");
		http_escape(&path, token);
	}
	return arena_text(a, buf_text(&path));
}

/* token: of the page that is read; becomes that of the next page, "" after the last one. */
static int read_page(struct remote *r, const struct e2b_page_reader *l, char *token,
                     size_t token_size, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct http_async_answer answer;
	const struct json_value *root;
	const struct remote_call call = {.method = "GET",
	                                 .path = page_path(l, &arena, token),
	                                 .wanted = "X-Next-Token",
	                                 .deadline = deadline};

	if (remote_call(r, &call, &answer, err) < 0)
		return -1;
	int status = json_load(&arena, buf_span(&answer.body), &root, err);
	buf_done(&answer.body);
	if (status < 0) {
		err->code = ERROR_UNAVAILABLE;
		return FAIL_CONTEXT(err, "E2B: list of %s", l->noun);
	}
	for (size_t i = 0; i < json_count(root); i++)
		l->take_item(l->context, json_item_at(root, i));
	(void)snprintf(token, token_size, "%s", answer.wanted);
	return 0;
}

int e2b_read_pages(struct remote *r, const struct e2b_page_reader *l, int64_t deadline,
                   struct error *err)
{
	char token[512] = "";

	for (unsigned page = 0; page < PAGES_MAX; page++) {
		if (read_page(r, l, token, sizeof(token), deadline, err) < 0)
			return -1;
		if (!token[0])
			return 0;
	}
	return FAIL(err, ERROR_LIMIT, "E2B: the list of %s has more than %d pages", l->noun,
	            PAGES_MAX);
}
