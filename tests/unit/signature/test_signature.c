/* SPDX-License-Identifier: Apache-2.0 */
/* The wanted signatures are those of AWS's own signer (npm: @smithy/signature-v4) for these
 * requests; tests/system/test_signature.py asks it about thousands of others. */
#include "unit.h"

#include "signature/signature.h"

#define KEY                                                                                        \
	{                                                                                          \
		.id = "AKIDEXAMPLE", .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"          \
	}
#define MOMENT INT64_C(1767323045000) /* 2026-01-02T03:04:05Z */

static struct error err;

static struct signature_request make_invoke(void)
{
	static const char *const headers[] = {"Content-Type: application/json",
	                                      "X-Amz-Invocation-Type:  RequestResponse ", NULL};

	return (struct signature_request){
	        .method = "POST",
	        .host = "lambda.us-east-1.amazonaws.com",
	        .path = "/2015-03-31/functions/my-fn/invocations",
	        .query = "Qualifier=prod",
	        .headers = headers,
	        .body = SPAN("{\"cmd\":\"echo hi\"}"),
	        .region = "us-east-1",
	        .service = "lambda",
	        .unix_ms = MOMENT,
	};
}

static const char *sign(struct arena *a, const struct signature_request *request)
{
	const struct signature_key key = KEY;
	const char *lines[SIGNATURE_HEADERS_MAX];
	size_t count = 0;

	assert_int_equal(signature_sign(a, &key, request, lines, &err), 0);
	while (lines[count])
		count++;
	return lines[count - 1];
}

TEST(a_request_has_the_signature_of_the_official_signer)
{
	AUTO(arena_done) struct arena a = {0};
	const struct signature_request request = make_invoke();

	assert_string_equal(
	        sign(&a, &request),
	        "Authorization: AWS4-HMAC-SHA256 "
	        "Credential=AKIDEXAMPLE/20260102/us-east-1/lambda/aws4_request, "
	        "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-invocation-"
	        "type, "
	        "Signature=a17996e2639e09dd82fd4f737fbefe3e663df657fbf0971162281d72a608b91a");
}

TEST(an_escaped_path_is_escaped_once_more_but_not_for_s3)
{
	AUTO(arena_done) struct arena a = {0};
	struct signature_request request = make_invoke(), other = make_invoke();

	request.path = "/functions/arn%3Aaws/invocations";
	other.path = "/functions/arn:aws/invocations";
	assert_string_not_equal(sign(&a, &request), sign(&a, &other));
	request.service = other.service = "s3";
	assert_string_not_equal(sign(&a, &request), sign(&a, &other));
}

TEST(the_order_of_a_query_and_dots_in_a_path_do_not_matter)
{
	AUTO(arena_done) struct arena a = {0};
	struct signature_request request = make_invoke(), other = make_invoke();

	request.query = "a-b=2&a=1&a=0";
	other.query = "a=0&a=1&a-b=2";
	other.path = "/2015-03-31//x/../functions/./my-fn/invocations";
	assert_string_equal(sign(&a, &request), sign(&a, &other));
}

TEST(a_session_token_is_sent_and_signed)
{
	AUTO(arena_done) struct arena a = {0};
	const struct signature_request request = make_invoke();
	struct signature_key key = KEY;
	const char *lines[SIGNATURE_HEADERS_MAX];

	key.session_token = "token";
	assert_int_equal(signature_sign(&a, &key, &request, lines, &err), 0);
	assert_string_equal(lines[2], "X-Amz-Security-Token: token");
	assert_non_null(strstr(lines[3], ";x-amz-security-token,"));
}

TEST(bad_headers_and_too_many_are_refused)
{
	AUTO(arena_done) struct arena a = {0};
	const struct signature_key key = KEY;
	struct signature_request request = make_invoke();
	const char *lines[SIGNATURE_HEADERS_MAX], *many[SIGNATURE_HEADERS_MAX + 1];

	request.headers = (const char *const[]){"no colon", NULL};
	assert_int_equal(signature_sign(&a, &key, &request, lines, &err), -1);
	assert_non_null(strstr(err.text, "'no colon' has no colon"));
	for (size_t i = 0; i < SIGNATURE_HEADERS_MAX; i++)
		many[i] = "a: b";
	many[SIGNATURE_HEADERS_MAX] = NULL;
	request.headers = many;
	assert_int_equal(signature_sign(&a, &key, &request, lines, &err), -1);
}

TEST(only_unreserved_characters_stay)
{
	AUTO(buf_done) struct buf out = BUF(256);

	signature_encode(&out, SPAN("a/b:c d~\xc3\xa9"), false);
	assert_string_equal(buf_text(&out), "a%2Fb%3Ac%20d~%C3%A9");
	buf_reset(&out);
	signature_encode(&out, SPAN("a/b:c"), true);
	assert_string_equal(buf_text(&out), "a/b%3Ac");
}

int main(void)
{
	return RUN(CASE(a_request_has_the_signature_of_the_official_signer),
	           CASE(an_escaped_path_is_escaped_once_more_but_not_for_s3),
	           CASE(the_order_of_a_query_and_dots_in_a_path_do_not_matter),
	           CASE(a_session_token_is_sent_and_signed),
	           CASE(bad_headers_and_too_many_are_refused),
	           CASE(only_unreserved_characters_stay));
}
