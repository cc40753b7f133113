/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/shapes.h"

#include "calls/stored_artifact.h"
#include "code/reader.h"
#include "decision/watch.h"
#include "json/write.h"
#include "sandbox/media.h"
#include "wire/agent_cause.h"

struct result {
	bool ok, timed_out, truncated, warm;
	const char *runtime, *signal, *cause, *standard_output, *standard_error, *stdout_encoding,
	        *stderr_encoding, *recording;
	int64_t process, exit_code, duration_ms;
	struct json_list artifacts, network;
	/* of code in a context */
	const char *context_id;
	int64_t execution_count;
	bool context_ended;
	struct json_list results;
	struct code_error {
		const char *name, *value, *traceback;
	} error;
};
#define RESULT_ROWS                                                                                \
	JSON_BOOL_MEMBER(result, ok, .about = "exit code 0 and in time"),                          \
	        JSON_TEXT_MEMBER(result, runtime, .about = "bash, sh, program, python …"),         \
	        JSON_WHOLE_MEMBER(result, process, .about = "0 when no program was started"),      \
	        JSON_WHOLE_MEMBER(result, exit_code,                                               \
	                          .about =                                                         \
	                                  "128 + the signal that ended it; 127: no such program"), \
	        JSON_TEXT_MEMBER(result, signal, .flags = JSON_NULLABLE,                           \
	                         .about = "such as SIGKILL"),                                      \
	        JSON_BOOL_MEMBER(result, timed_out),                                               \
	        JSON_TEXT_MEMBER(result, cause, .about = AGENT_CAUSES_ABOUT),                      \
	        JSON_WHOLE_MEMBER(result, duration_ms),                                            \
	        JSON_BOOL_MEMBER(                                                                  \
	                result, warm, .flags = JSON_OMIT_EMPTY,                                    \
	                .about = "true when a waiting interpreter ran the code; else absent"),     \
	        JSON_TEXT_MEMBER(                                                                  \
	                result, standard_output, .name = "stdout",                                 \
	                .about = "at most outputLimitBytes: the first and the last half; a line "  \
	                         "between them has the number of cut bytes"),                      \
	        JSON_TEXT_MEMBER(result, stdout_encoding, .flags = JSON_OMIT_EMPTY,                \
	                         .about = "base64 when stdout is not UTF-8"),                      \
	        JSON_TEXT_MEMBER(result, standard_error, .name = "stderr"),                        \
	        JSON_TEXT_MEMBER(result, stderr_encoding, .flags = JSON_OMIT_EMPTY),               \
	        JSON_BOOL_MEMBER(result, truncated),                                               \
	        JSON_LIST_MEMBER(                                                                  \
	                result, network, &network_refusal_shape, .flags = JSON_OMIT_EMPTY,         \
	                .about = "what network rules refused in the sandbox while it ran"),        \
	        JSON_TEXT_MEMBER(result, recording, .flags = JSON_OMIT_EMPTY,                      \
	                         .about = "id of the recording, when the call asked for one; it "  \
	                                  "is listed a moment after the answer")
static const struct json_member code_error_shape_members[] = {
        JSON_TEXT_MEMBER(code_error, name, .example = "ZeroDivisionError"),
        JSON_TEXT_MEMBER(code_error, value),
        JSON_TEXT_MEMBER(code_error, traceback),
};
static JSON_SHAPE(code_error_shape, "CodeError", code_error, "How a block of code failed");
static const struct json_member result_shape_members[] = {
        RESULT_ROWS,
        JSON_TEXT_MEMBER(result, context_id, .name = "contextId", .flags = JSON_OMIT_EMPTY,
                         .about = "this and all further members: only of code in a context"),
        JSON_WHOLE_MEMBER(result, execution_count, .flags = JSON_OMIT_EMPTY,
                          .about = "number of the block in its interpreter"),
        JSON_BOOL_MEMBER(result, context_ended, .flags = JSON_OMIT_EMPTY,
                         .about = "the interpreter has ended, and its state is lost"),
        JSON_LIST_MEMBER(result, results, &code_result_shape, .flags = JSON_OMIT_EMPTY,
                         .about = "the block's value, figures and displayed objects"),
        JSON_OBJECT_MEMBER(result, error, &code_error_shape, .flags = JSON_OMIT_EMPTY,
                           .about = "null when the block did not fail"),
        JSON_LIST_MEMBER(result, artifacts, &stored_artifact_shape, .flags = JSON_OMIT_EMPTY,
                         .about = "files that were stored, when the call asked for it"),
};
JSON_SHAPE(result_shape, "Result", result, "The result of a command");

static const struct json_member gateway_result_shape_members[] = {
        RESULT_ROWS,
        JSON_LIST_MEMBER(
                result, artifacts, &stored_artifact_shape, .max = RESULT_ARTIFACTS_MAX,
                .about = "files of the workspace that were made or changed during the call: "
                         "path (in the workspace), size and media_type; when "
                         "the call asked to store them, the stored artifacts"),
};
JSON_SHAPE(gateway_result_shape, "GatewayResult", result,
           "The result of a command, and the files it left");

struct file_entry {
	const char *path, *name, *type, *mode, *link;
	int64_t size, uid, gid, modified_at;
};
static const struct json_member file_entry_shape_members[] = {
        JSON_TEXT_MEMBER(file_entry, path,
                         .about = "as in the request, or relative to the listed "
                                  "folder"),
        JSON_TEXT_MEMBER(file_entry, name),
        JSON_TEXT_MEMBER(file_entry, type, .about = "file, directory, symlink or other"),
        JSON_WHOLE_MEMBER(file_entry, size),
        JSON_TEXT_MEMBER(file_entry, mode, .about = "octal", .example = "0644"),
        JSON_WHOLE_MEMBER(file_entry, uid),
        JSON_WHOLE_MEMBER(file_entry, gid),
        JSON_TIME_MEMBER(file_entry, modified_at),
        JSON_TEXT_MEMBER(file_entry, link, .flags = JSON_NULLABLE, .about = "target of a symlink"),
};
JSON_SHAPE(file_entry_shape, "FileEntry", file_entry, "A file or folder");

struct file_list {
	struct json_list items;
	bool truncated;
	const char *next_after;
	int64_t listed_at_ms;
};
static const struct json_member file_list_shape_members[] = {
        JSON_LIST_MEMBER(file_list, items, &file_entry_shape),
        JSON_BOOL_MEMBER(file_list, truncated),
        JSON_TEXT_MEMBER(file_list, next_after, .flags = JSON_NULLABLE,
                         .about = "of GET: value of after for the next page; null: there is no "
                                  "next page"),
        JSON_WHOLE_MEMBER(file_list, listed_at_ms,
                          .about = "of GET: time of the request, unix ms by the sandbox's clock"),
};
JSON_SHAPE(file_list_shape, "FileList", file_list, "Files and folders");

struct file_content {
	const char *path, *content, *encoding;
	int64_t size, offset, length, lines, total_lines, next_offset;
	bool truncated;
};
static const struct json_member file_content_shape_members[] = {
        JSON_TEXT_MEMBER(file_content, path),
        JSON_TEXT_MEMBER(file_content, content),
        JSON_TEXT_MEMBER(file_content, encoding, .about = "base64 when the content is not UTF-8"),
        JSON_WHOLE_MEMBER(file_content, size, .about = "size of the whole file"),
        JSON_WHOLE_MEMBER(file_content, offset, .about = "first byte, or first line, of this page"),
        JSON_WHOLE_MEMBER(file_content, length, .about = "bytes of this page, in a read by bytes"),
        JSON_WHOLE_MEMBER(file_content, lines, .about = "lines of this page, in a read by lines"),
        JSON_WHOLE_MEMBER(file_content, total_lines),
        JSON_WHOLE_MEMBER(file_content, next_offset, .flags = JSON_NULLABLE,
                          .about = "start of the next page; null at the end"),
        JSON_BOOL_MEMBER(file_content, truncated, .about = "the file has more"),
};
JSON_SHAPE(file_content_shape, "FileContent", file_content, "Bytes of a file inside JSON");

struct count_answer {
	int64_t count;
};
static const struct json_member count_shape_members[] = {
        JSON_WHOLE_MEMBER(count_answer, count),
};
JSON_SHAPE(count_shape, "Count", count_answer, "Number of entries or bytes");

void result_add_artifact(struct buf *out, const char *path, int64_t size)
{
	json_begin_object(out, NULL);
	json_add_text(out, "path", path);
	json_add_whole(out, "size", size);
	json_add_text(out, "media_type", media_type_of_name(path));
	json_end_object(out);
}
