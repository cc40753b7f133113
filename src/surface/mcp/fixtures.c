/* SPDX-License-Identifier: Apache-2.0 */
/* The names, arguments and contents are the conformance suite's. */
#include "surface/mcp/fixtures.h"

#include <poll.h>
#include <string.h>

#include "config/config.h"
#include "edge/api.h"
#include "http/server/http.h"
#include "json/write.h"
#include "surface/mcp/mcp.h"
#include "surface/mcp/prompts.h"

#define STEP_MS 60
#define ASK_MS 30000
#define PNG                                                                                        \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSu" \
	"QmCC" /* a red pixel */
#define WAV "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="
#define TEXT_ITEM(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define IMAGE_ITEM "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}"
#define AUDIO_ITEM "{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}"
#define RESOURCE_ITEM(uri, type, text)                                                             \
	"{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri "\",\"mimeType\":\"" type            \
	"\",\"text\":\"" text "\"}}"

#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{}}"
#define ONE_ARGUMENT(name)                                                                         \
	"{\"type\":\"object\",\"properties\":{\"" name                                             \
	"\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"
#define TEXT "{\"type\":\"string\"}"
#define REQUIRED(name) "{\"required\":[\"" name "\"]}"
#define SCHEMA_2020_12                                                                             \
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","       \
	"\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","                  \
	"\"properties\":{\"street\":" TEXT ",\"city\":" TEXT "}}},"                                \
	"\"properties\":{\"name\":" TEXT ",\"address\":{\"$ref\":\"#/$defs/address\"},"            \
	"\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"                  \
	"\"phone\":" TEXT ",\"email\":" TEXT "},"                                                  \
	"\"allOf\":[{\"anyOf\":[" REQUIRED("phone") "," REQUIRED(                                  \
	        "email") "]}],"                                                                    \
	                 "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"       \
	                 "\"required\":[\"contactMethod\"]},\"then\":" REQUIRED(                   \
	                         "phone") ",\"else\":" REQUIRED("email") ",\"additionalProperties" \
	                                                                 "\":false}"

/* The schemas of questions to the user. */
#define ASK_USER                                                                                   \
	"{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\",\"description\":"  \
	"\"User's response\"},\"email\":{\"type\":\"string\",\"description\":\"User's email "      \
	"address\"}},\"required\":[\"username\",\"email\"]}"
#define ASK_DEFAULTS                                                                               \
	"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"default\":\"John "   \
	"Doe\"},\"age\":{\"type\":\"integer\",\"default\":30},\"score\":{\"type\":\"number\","     \
	"\"default\":95.5},\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\","     \
	"\"pending\"],\"default\":\"active\"},\"verified\":{\"type\":\"boolean\",\"default\":"     \
	"true}},\"required\":[]}"
#define TITLED(name, title) "{\"const\":\"" name "\",\"title\":\"" title "\"}"
#define THREE_OPTIONS "\"enum\":[\"option1\",\"option2\",\"option3\"]"
#define ASK_ENUMS                                                                                            \
	"{\"type\":\"object\",\"properties\":{\"untitledSingle\":{\"type\":"                                 \
	"\"string\"," THREE_OPTIONS                                                                          \
	"},\"titledSingle\":{\"type\":\"string\",\"oneOf\":[" TITLED("value1", "First Option") "," TITLED(   \
	        "value2",                                                                                    \
	        "Second Option") "," TITLED("value3",                                                        \
	                                    "Third Option") "]},\"legacyEnum\":{\"type\":"                   \
	                                                    "\"string\",\"enum\":["                          \
	                                                    "\"opt1\",\"opt2\",\"opt3\"],"                   \
	                                                    "\"enumNames\":[\"Option "                       \
	                                                    "One\",\"Option Two\",\"Option "                 \
	                                                    "Three\"]},\"untitledMulti\":{"                  \
	                                                    "\"type\":\"array\",\"items\":{"                 \
	                                                    "\"type\":\"string\"," THREE_OPTIONS             \
	                                                    "}},\"titledMulti\":{\"type\":"                  \
	                                                    "\"array\",\"items\":{\"anyOf\":"                \
	                                                    "[" TITLED("value1", "First Choice") "," TITLED( \
	                                                            "value2",                                \
	                                                            "Second Choice") "," TITLED("value3",    \
	                                                                                        "Third Choice") "]}}},\"required\":[]}"

struct fixture_tool {
	const char *name, *about, *schema;
	const char *content; /* the list of the result; or */
	int (*call)(struct mcp *m, const struct fixture_tool *tool, struct buf *text,
	            struct error *err); /* writes the text of its only item */
	const char *ask, *key;          /* for ask_user: its schema, and the question's name */
};

static void pause_step(void)
{
	(void)poll(NULL, 0, STEP_MS);
}

static int call_logging(struct mcp *m, UNUSED const struct fixture_tool *tool, struct buf *text,
                        UNUSED struct error *err)
{
	static const char *const lines[] = {"Tool execution started", "Tool processing data",
	                                    "Tool execution completed"};

	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		if (i > 0)
			pause_step();
		mcp_client_log(m->client, MCP_LOG_INFO, "fixtures", span_of(lines[i]));
	}
	buf_add_text(text, "logged");
	return 0;
}

static int call_progress(struct mcp *m, UNUSED const struct fixture_tool *tool, struct buf *text,
                         UNUSED struct error *err)
{
	for (int done = 0; done <= 100; done += 50) {
		mcp_client_progress(m->client, done, 100, "running");
		pause_step();
	}
	buf_add_text(text, "done");
	return 0;
}

static int fail_call(UNUSED struct mcp *m, UNUSED const struct fixture_tool *tool,
                     UNUSED struct buf *text, struct error *err)
{
	return FAIL(err, ERROR_INVALID, "This tool intentionally returns an error for testing");
}

static const char *argument_of(const struct mcp *m, const char *name)
{
	return json_get_text(json_get(m->message.params, "arguments"), name, "");
}

static int call_sampling(struct mcp *m, const struct fixture_tool *tool, struct buf *text,
                         struct error *err)
{
	AUTO(buf_done) struct buf params = BUF((size_t)64 * 1024);
	struct mcp_ask ask = {.question = MCP_SAMPLING, .timeout_ms = ASK_MS};
	const struct json_value *result;

	ask.key = tool->key ? tool->key : "answer";
	json_begin_object(&params, NULL);
	json_begin_list(&params, "messages");
	json_begin_object(&params, NULL);
	json_add_text(&params, "role", "user");
	json_begin_object(&params, "content");
	json_add_text(&params, "type", "text");
	json_add_text(&params, "text", argument_of(m, "prompt"));
	json_end_object(&params);
	json_end_object(&params);
	json_end_list(&params);
	json_add_whole(&params, "maxTokens", 100);
	json_end_object(&params);
	ask.params = buf_span(&params);
	if (mcp_ask(m, &ask, &result, err) < 0)
		return -1;
	buf_addf(text, "LLM response: %s", json_get_text(json_get(result, "content"), "text", ""));
	return 0;
}

static int ask_user(struct mcp *m, const struct fixture_tool *tool, struct buf *text,
                    struct error *err)
{
	AUTO(buf_done) struct buf params = BUF((size_t)64 * 1024);
	struct mcp_ask ask = {.question = MCP_ELICITATION, .timeout_ms = ASK_MS};
	const char *message = argument_of(m, "message");
	const struct json_value *result;

	ask.key = tool->key ? tool->key : "answer";
	json_begin_object(&params, NULL);
	json_add_text(&params, "message", message[0] ? message : "Please fill in the form.");
	json_add_raw(&params, "requestedSchema", span_of(tool->ask));
	json_end_object(&params);
	ask.params = buf_span(&params);
	if (mcp_ask(m, &ask, &result, err) < 0)
		return -1;
	buf_addf(text, "User response: action=%s, content=", json_get_text(result, "action", ""));
	if (json_get(result, "content"))
		json_print(text, json_get(result, "content"), 0);
	return 0;
}

static const struct fixture_tool fixture_tools[] = {
        {"test_simple_text", "Returns a text", NO_ARGUMENTS,
         "[" TEXT_ITEM("This is a simple text response for testing.") "]"},
        {"test_image_content", "Returns an image", NO_ARGUMENTS, "[" IMAGE_ITEM "]"},
        {"test_audio_content", "Returns a sound", NO_ARGUMENTS, "[" AUDIO_ITEM "]"},
        {"test_embedded_resource", "Returns a resource", NO_ARGUMENTS,
         "[" RESOURCE_ITEM("test://embedded-resource", "text/plain",
                           "This is an embedded resource content.") "]"},
        {"test_multiple_content_types", "Returns a text, an image and a resource", NO_ARGUMENTS,
         "[" TEXT_ITEM("Multiple content types test:") "," IMAGE_ITEM "," RESOURCE_ITEM(
                 "test://mixed-content-resource", "application/json",
                 "{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}") "]"},
        {"test_tool_with_logging", "Sends log messages", NO_ARGUMENTS, .call = call_logging},
        {"test_tool_with_progress", "Reports progress", NO_ARGUMENTS, .call = call_progress},
        {"test_error_handling", "Fails", NO_ARGUMENTS, .call = fail_call},
        {"test_sampling", "Asks the client's model", ONE_ARGUMENT("prompt"), .call = call_sampling},
        {"test_elicitation", "Asks the user", ONE_ARGUMENT("message"), .call = ask_user,
         .ask = ASK_USER},
        {"test_elicitation_sep1034_defaults", "Asks the user, with default values", NO_ARGUMENTS,
         .call = ask_user, .ask = ASK_DEFAULTS},
        {"test_elicitation_sep1330_enums", "Asks the user to choose", NO_ARGUMENTS,
         .call = ask_user, .ask = ASK_ENUMS},
        {"test_missing_capability", "Asks the client's model", NO_ARGUMENTS, .call = call_sampling},
        {"test_logging_tool", "Sends log messages", NO_ARGUMENTS, .call = call_logging},
        {"test_streaming_elicitation", "Asks the user", NO_ARGUMENTS, .call = ask_user,
         .ask = ASK_USER},
        {"test_input_required_result_elicitation", "Asks the user", NO_ARGUMENTS, .call = ask_user,
         .ask = ASK_USER, .key = "user_name"},
        {"test_input_required_result_sampling", "Asks the client's model", NO_ARGUMENTS,
         .call = call_sampling, .key = "capital_question"},
        {"json_schema_2020_12_tool", "Has a schema with references", SCHEMA_2020_12,
         "[" TEXT_ITEM("ok") "]"},
};

static const struct fixture_resource {
	const char *uri, *name, *type, *text, *blob;
} fixture_resources[] = {
        {"test://static-text", "static-text", "text/plain",
         .text = "This is the content of the static text resource."},
        {"test://static-binary", "static-binary", "image/png", .blob = PNG},
        {"test://watched-resource", "watched-resource", "text/plain", .text = "never changes"},
};
#define TEMPLATE_BEGIN "test://template/"
#define TEMPLATE_END "/data"

struct fixture_prompt {
	struct mcp_prompt prompt;
	bool has_image, has_resource; /* content before the text */
	const char *text;
};
static const struct fixture_prompt fixture_prompts[] = {
        {.prompt = {.name = "test_simple_prompt", .about = "A prompt without arguments"},
         .text = "This is a simple prompt for testing."},
        {.prompt = {.name = "test_prompt_with_arguments",
                    .about = "A prompt with arguments",
                    .arguments = {{"arg1", "First test argument", .is_required = true},
                                  {"arg2", "Second test argument", .is_required = true}}}},
        {.prompt = {.name = "test_prompt_with_embedded_resource",
                    .about = "A prompt with a resource",
                    .arguments = {{"resourceUri", "address of the resource", .is_required = true}}},
         .has_resource = true,
         .text = "Please process the embedded resource above."},
        {.prompt = {.name = "test_prompt_with_image", .about = "A prompt with an image"},
         .has_image = true,
         .text = "Please analyze the image above."},
};

static const struct fixture_resource *find_resource(const char *uri)
{
	for (size_t i = 0; i < COUNT_OF(fixture_resources); i++)
		if (strcmp(fixture_resources[i].uri, uri) == 0)
			return &fixture_resources[i];
	return NULL;
}

bool mcp_fixture_is_resource(const char *uri)
{
	return find_resource(uri) != NULL;
}

static void list_tools(struct buf *out)
{
	for (size_t i = 0; i < COUNT_OF(fixture_tools); i++) {
		json_begin_object(out, NULL);
		json_add_text(out, "name", fixture_tools[i].name);
		json_add_text(out, "description", fixture_tools[i].about);
		json_add_raw(out, "inputSchema", span_of(fixture_tools[i].schema));
		json_end_object(out);
	}
}

static void list_resources(struct buf *out)
{
	for (size_t i = 0; i < COUNT_OF(fixture_resources); i++) {
		json_begin_object(out, NULL);
		json_add_text(out, "uri", fixture_resources[i].uri);
		json_add_text(out, "name", fixture_resources[i].name);
		json_add_text(out, "mimeType", fixture_resources[i].type);
		json_end_object(out);
	}
}

static void list_templates(struct buf *out)
{
	json_begin_object(out, NULL);
	json_add_text(out, "uriTemplate", TEMPLATE_BEGIN "{id}" TEMPLATE_END);
	json_add_text(out, "name", "template");
	json_add_text(out, "mimeType", "application/json");
	json_end_object(out);
}

static void list_prompts(struct buf *out)
{
	for (size_t i = 0; i < COUNT_OF(fixture_prompts); i++)
		mcp_write_prompt(out, &fixture_prompts[i].prompt);
}

void mcp_fixtures_list(const struct mcp *m, enum mcp_fixture_list which, struct buf *out)
{
	static void (*const lists[])(struct buf *) = {
	        [MCP_FIXTURE_TOOLS] = list_tools,
	        [MCP_FIXTURE_RESOURCES] = list_resources,
	        [MCP_FIXTURE_TEMPLATES] = list_templates,
	        [MCP_FIXTURE_PROMPTS] = list_prompts,
	};

	if (api_of(m->rq)->config->mcp_fixtures)
		lists[which](out);
}

static bool answer_tool(struct mcp *m, struct buf *out, struct mcp_fault *fault, int *ret)
{
	const char *name = json_get_text(m->message.params, "name", "");
	AUTO(buf_done) struct buf text = BUF((size_t)64 * 1024);
	const struct fixture_tool *tool = NULL;
	struct error err;
	bool has_failed;

	for (size_t i = 0; i < COUNT_OF(fixture_tools); i++)
		if (strcmp(fixture_tools[i].name, name) == 0)
			tool = &fixture_tools[i];
	if (!tool)
		return false;
	if (tool->content) {
		json_add_raw(out, "content", span_of(tool->content));
		return true;
	}
	has_failed = tool->call(m, tool, &text, &err) < 0;
	if (m->required.size)
		return true;
	if (m->missing && m->message.is_modern) {
		*ret = mcp_refuse(fault, MCP_MISSING_CAPABILITY, 400, "%s", err.text);
		fault->missing = m->missing;
		return true;
	}
	json_begin_list(out, "content");
	json_begin_object(out, NULL);
	json_add_text(out, "type", "text");
	json_add_span(out, "text", has_failed ? span_of(err.text) : buf_span(&text));
	json_end_object(out);
	json_end_list(out);
	json_add_bool(out, "isError", has_failed);
	return true;
}

/* "123" of "test://template/123/data"; NULL for other addresses. */
static const char *template_id(struct arena *a, const char *uri)
{
	size_t size = strlen(uri), around = sizeof(TEMPLATE_BEGIN TEMPLATE_END) - 1;
	struct span id;

	if (size <= around || strncmp(uri, TEMPLATE_BEGIN, sizeof(TEMPLATE_BEGIN) - 1) != 0 ||
	    strcmp(uri + size - (sizeof(TEMPLATE_END) - 1), TEMPLATE_END) != 0)
		return NULL;
	id = (struct span){uri + sizeof(TEMPLATE_BEGIN) - 1, size - around};
	return span_find(id, '/') < 0 ? arena_copy(a, id) : NULL;
}

static bool answer_resource(struct mcp *m, struct buf *out, UNUSED struct mcp_fault *fault,
                            UNUSED int *ret)
{
	const char *uri = json_get_text(m->message.params, "uri", "");
	const struct fixture_resource *found = find_resource(uri);
	const char *id = found ? NULL : template_id(m->rq->arena, uri);
	AUTO(buf_done) struct buf text = BUF((size_t)64 * 1024);

	if (!found && !id)
		return false;
	if (id) {
		json_begin_object(&text, NULL);
		json_add_text(&text, "id", id);
		json_add_bool(&text, "templateTest", true);
		json_add_text(&text, "data", arena_format(m->rq->arena, "Data for ID: %s", id));
		json_end_object(&text);
	}
	json_begin_list(out, "contents");
	json_begin_object(out, NULL);
	json_add_text(out, "uri", uri);
	json_add_text(out, "mimeType", found ? found->type : "application/json");
	if (found && found->blob)
		json_add_text(out, "blob", found->blob);
	else
		json_add_span(out, "text", found ? span_of(found->text) : buf_span(&text));
	json_end_object(out);
	json_end_list(out);
	return true;
}

static void add_message(struct buf *out, const char *content)
{
	json_begin_object(out, NULL);
	json_add_text(out, "role", "user");
	json_add_raw(out, "content", span_of(content));
	json_end_object(out);
}

static void add_resource_message(struct buf *out, const char *uri)
{
	json_begin_object(out, NULL);
	json_add_text(out, "role", "user");
	json_begin_object(out, "content");
	json_add_text(out, "type", "resource");
	json_begin_object(out, "resource");
	json_add_text(out, "uri", uri);
	json_add_text(out, "mimeType", "text/plain");
	json_add_text(out, "text", "Embedded resource content for testing.");
	json_end_object(out);
	json_end_object(out);
	json_end_object(out);
}

static const struct fixture_prompt *find_fixture_prompt(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(fixture_prompts); i++)
		if (strcmp(fixture_prompts[i].prompt.name, name) == 0)
			return &fixture_prompts[i];
	return NULL;
}

static bool answer_prompt(struct mcp *m, struct buf *out, struct mcp_fault *fault, int *ret)
{
	const struct json_value *given = json_get(m->message.params, "arguments");
	const struct fixture_prompt *found =
	        find_fixture_prompt(json_get_text(m->message.params, "name", ""));
	AUTO(buf_done) struct buf text = BUF((size_t)64 * 1024);

	if (!found)
		return false;
	*ret = mcp_prompt_check(m, &found->prompt, given, fault);
	if (*ret < 0)
		return true;
	json_begin_object(&text, NULL);
	json_add_text(&text, "type", "text");
	json_add_text(&text, "text",
	              found->text ? found->text
	                          : arena_format(m->rq->arena,
	                                         "Prompt with arguments: arg1='%s', arg2='%s'",
	                                         json_get_text(given, "arg1", ""),
	                                         json_get_text(given, "arg2", "")));
	json_end_object(&text);
	json_begin_list(out, "messages");
	if (found->has_resource)
		add_resource_message(out, json_get_text(given, "resourceUri", ""));
	if (found->has_image)
		add_message(out, IMAGE_ITEM);
	add_message(out, buf_text(&text));
	json_end_list(out);
	return true;
}

static bool answer_completion(struct mcp *m, struct buf *out, UNUSED struct mcp_fault *fault,
                              UNUSED int *ret)
{
	const char *name = json_get_text(json_get(m->message.params, "ref"), "name", "");

	if (!find_fixture_prompt(name))
		return false;
	mcp_write_completion(out, NULL, 0, 0);
	return true;
}

bool mcp_fixture_answer(struct mcp *m, struct buf *out, struct mcp_fault *fault, int *ret)
{
	static const struct {
		const char *method;
		bool (*answer)(struct mcp *m, struct buf *out, struct mcp_fault *fault, int *ret);
	} methods[] = {{"tools/call", answer_tool},
	               {"resources/read", answer_resource},
	               {"prompts/get", answer_prompt},
	               {"completion/complete", answer_completion}};

	*ret = 0;
	if (!api_of(m->rq)->config->mcp_fixtures)
		return false;
	for (size_t i = 0; i < COUNT_OF(methods); i++)
		if (strcmp(methods[i].method, m->message.method) == 0)
			return methods[i].answer(m, out, fault, ret);
	return false;
}
