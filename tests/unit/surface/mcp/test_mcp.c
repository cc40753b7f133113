/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/mcp/origin.h"
#include "surface/mcp/protocol.h"
#include "surface/mcp/sessions.h"
#include "unit.h"

static int code_of(const char *body, const struct mcp_headers *headers)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	struct mcp_message message;
	struct mcp_fault fault = {.code = 0};

	return mcp_parse(&a, span_of(body), headers, &message, &fault) < 0 ? fault.code : 0;
}

#define CALL(meta)                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"bash\","   \
	"\"_meta\":{" meta "}}}"
#define VERSION "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""
#define ABILITIES "\"io.modelcontextprotocol/clientCapabilities\":{}"

TEST(the_words_of_a_request_tell_its_era)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	const struct mcp_headers none = {NULL}, old = {.version = "2025-06-18"};
	const struct mcp_headers modern = {"2026-07-28", "tools/call", "bash"};
	struct mcp_message m;
	struct mcp_fault fault;

	assert_int_equal(mcp_parse(&a,
	                           SPAN("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}"),
	                           &none, &m, &fault),
	                 0);
	assert_false(m.is_modern);
	assert_string_equal(m.version, MCP_LEGACY);
	assert_true(span_equals_text(m.id, "\"x\""));
	assert_int_equal(
	        mcp_parse(&a, SPAN("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}"), &old, &m, &fault), 0);
	assert_string_equal(m.version, "2025-06-18");
	assert_int_equal(m.id.size, 0);
	assert_int_equal(mcp_parse(&a, SPAN(CALL(VERSION "," ABILITIES)), &modern, &m, &fault), 0);
	assert_true(m.is_modern);
}

TEST(headers_and_body_agree_or_it_is_refused)
{
	const char *whole = CALL(VERSION "," ABILITIES);
	const struct {
		struct mcp_headers headers;
		const char *body;
		int code;
	} cases[] = {
	        {{NULL, "tools/call", "bash"}, whole, MCP_HEADER_MISMATCH},
	        {{"2025-11-25", "tools/call", "bash"}, whole, MCP_HEADER_MISMATCH},
	        {{"2026-07-28", NULL, "bash"}, whole, MCP_HEADER_MISMATCH},
	        {{"2026-07-28", "tools/list", "bash"}, whole, MCP_HEADER_MISMATCH},
	        {{"2026-07-28", "tools/call", NULL}, whole, MCP_HEADER_MISMATCH},
	        {{"2026-07-28", "tools/call", "read"}, whole, MCP_HEADER_MISMATCH},
	        {{"2026-07-28", "tools/call", "=?base64?YmFzaA==?="}, whole, 0},
	        {{"2026-07-28", "tools/call", "=?base64?###?="}, whole, MCP_HEADER_MISMATCH},
	        {{"2026-07-28", "tools/call", "bash"}, CALL(VERSION), MCP_INVALID_PARAMS},
	        {{"2026-07-28", "tools/call", "bash"}, CALL(""), MCP_INVALID_PARAMS},
	        {{"2027-01-01", "tools/call", "bash"}, CALL(""), MCP_UNSUPPORTED_VERSION},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(code_of(cases[i].body, &cases[i].headers), cases[i].code);
}

TEST(what_is_no_message_is_told_as_json_rpc_does)
{
	const struct mcp_headers none = {NULL};

	assert_int_equal(code_of("", &none), MCP_PARSE_ERROR);
	assert_int_equal(code_of("{", &none), MCP_PARSE_ERROR);
	assert_int_equal(code_of("[]", &none), MCP_INVALID_REQUEST);
	assert_int_equal(code_of("{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"a\"}", &none),
	                 MCP_INVALID_REQUEST);
	assert_int_equal(code_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", &none), 0);
}

TEST(a_refusal_names_the_versions_that_would_do)
{
	AUTO(buf_done) struct buf out = BUF(4096);
	const struct mcp_fault fault = {MCP_UNSUPPORTED_VERSION, 400, "unsupported",
	                                .requested = "1"};

	mcp_write_fault(&out, SPAN("5"), &fault);
	assert_non_null(strstr(buf_text(&out), "\"id\":5,\"error\":{\"code\":-32022"));
	assert_non_null(strstr(buf_text(&out), "\"supported\":[\"2026-07-28\",\"2025-11-25\""));
	assert_non_null(strstr(buf_text(&out), "\"requested\":\"1\""));
}

TEST(only_names_of_this_server_get_through)
{
	const struct {
		const char *listen, *hosts, *host, *origin;
		bool is_unix, passes;
	} cases[] = {
	        {"127.0.0.1:7777", "", "127.0.0.1:7777", NULL, false, true},
	        {"127.0.0.1:7777", "", "LOCALHOST", NULL, false, true},
	        {"[::1]:7777", "", "[::1]:7777", NULL, false, true},
	        {"127.0.0.1:7777", "", "evil.example", NULL, false, false},
	        {"127.0.0.1:7777", "", "localhost.evil.example", NULL, false, false},
	        {"127.0.0.1:7777", "", NULL, NULL, false, false},
	        {"127.0.0.1:7777", "", "", NULL, false, false},
	        {"127.0.0.1:7777", "a.example, b.example", "b.example:80", NULL, false, true},
	        {"127.0.0.1:7777", "*", "c.example", "https://d.example", false, true},
	        {"127.0.0.1:7777", "", "localhost", "http://localhost:3000", false, true},
	        {"127.0.0.1:7777", "", "localhost", "http://evil.example", false, false},
	        {"127.0.0.1:7777", "", "localhost", "null", false, false},
	        {"127.0.0.1:7777", "", "localhost", "", false, false},
	        {"127.0.0.1:7777", "", "", NULL, true, true},
	        {"0.0.0.0:7777", "", "atoll.example", NULL, false, true},
	        {"0.0.0.0:7777", "", "atoll.example", "https://atoll.example", false, true},
	        {"0.0.0.0:7777", "", "atoll.example", "https://evil.example", false, false},
	        {"0.0.0.0:7777", "", "atoll.example", "http://localhost", false, false},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct mcp_origin origin = {cases[i].host, cases[i].origin, cases[i].listen,
		                                  cases[i].hosts, cases[i].is_unix};
		struct error err;

		if ((mcp_origin_check(&origin, &err) == 0) != cases[i].passes)
			fail_msg("case %zu", i);
	}
}

TEST(a_session_is_its_keys_and_the_oldest_gives_way)
{
	const struct mcp_abilities none = {.log_level = MCP_LOG_OFF};
	struct mcp_abilities found;
	struct mcp_sessions *s = mcp_sessions_new();
	char first[ID_SIZE + 1], id[ID_SIZE + 1];

	mcp_sessions_add(s, "key", &none, 1, first);
	assert_true(mcp_sessions_use(s, first, "key", 2, &found));
	assert_false(mcp_sessions_use(s, first, "other", 2, &found));
	assert_false(mcp_sessions_remove(s, first, "other"));
	assert_false(mcp_sessions_use(s, "", "key", 2, &found));
	for (int i = 0; i < MCP_SESSIONS_MAX; i++)
		mcp_sessions_add(s, "key", &none, 3 + i, id);
	assert_false(mcp_sessions_use(s, first, "key", 5, &found));
	assert_true(mcp_sessions_remove(s, id, "key"));
	assert_false(mcp_sessions_remove(s, id, "key"));
	mcp_sessions_free(s);
	mcp_sessions_free(NULL);
}

int main(void)
{
	return RUN(CASE(the_words_of_a_request_tell_its_era),
	           CASE(headers_and_body_agree_or_it_is_refused),
	           CASE(what_is_no_message_is_told_as_json_rpc_does),
	           CASE(a_refusal_names_the_versions_that_would_do),
	           CASE(only_names_of_this_server_get_through),
	           CASE(a_session_is_its_keys_and_the_oldest_gives_way));
}
