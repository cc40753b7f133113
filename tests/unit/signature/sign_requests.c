/* SPDX-License-Identifier: Apache-2.0 */
/* Signs requests for a comparison with another signer: a JSON object a line in, the line of the
 * authorization out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "json/json.h"
#include "signature/signature.h"

struct asked {
	const char *method, *host, *path, *query, *body, *region, *service, *id, *secret, *token;
	const char **headers;
	int64_t unix_ms;
};

static const struct json_member asked_shape_members[] = {
        JSON_TEXT_MEMBER(asked, method),
        JSON_TEXT_MEMBER(asked, host),
        JSON_TEXT_MEMBER(asked, path),
        JSON_TEXT_MEMBER(asked, query),
        JSON_TEXT_MEMBER(asked, body),
        JSON_TEXT_MEMBER(asked, region),
        JSON_TEXT_MEMBER(asked, service),
        JSON_TEXT_MEMBER(asked, id),
        JSON_TEXT_MEMBER(asked, secret),
        JSON_TEXT_MEMBER(asked, token),
        JSON_TEXT_LIST_MEMBER(asked, headers, .max = SIGNATURE_HEADERS_MAX),
        JSON_WHOLE_MEMBER(asked, unix_ms),
};
static JSON_SHAPE(asked_shape, "Asked", asked, "A request to sign");

static int sign_line(struct span line, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	const char *lines[SIGNATURE_HEADERS_MAX];
	struct asked asked;
	size_t count = 0;

	if (json_parse(&a, line, &asked_shape, &asked, err) < 0)
		return -1;
	const struct signature_key key = {asked.id, asked.secret, asked.token};
	const struct signature_request request = {.method = asked.method,
	                                          .host = asked.host,
	                                          .path = asked.path,
	                                          .query = asked.query,
	                                          .headers = (const char *const *)asked.headers,
	                                          .body = span_of(asked.body),
	                                          .region = asked.region,
	                                          .service = asked.service,
	                                          .unix_ms = asked.unix_ms};
	if (signature_sign(&a, &key, &request, lines, err) < 0)
		return -1;
	while (lines[count])
		count++;
	(void)puts(lines[count - 1]);
	return 0;
}

int main(void)
{
	AUTO_FREE char *line = NULL;
	size_t room = 0;
	ssize_t size;

	while ((size = getline(&line, &room, stdin)) > 0) {
		struct error err = {0};

		if (sign_line((struct span){line, (size_t)size}, &err) < 0) {
			(void)fprintf(stderr, "%s\n", err.text);
			return 1;
		}
	}
	return 0;
}
