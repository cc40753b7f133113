/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/code_notes.h"

#include "calls/code_run.h"
#include "calls/command_recorder.h"
#include "code/reader.h"
#include "edge/api.h"

#define ROWS 24
#define COLUMNS 80

struct activity_note *code_note_begin(const struct request *rq, const struct api_target *t,
                                      enum code_language language, const char *code)
{
	struct activity_note *n = api_activity_begin(
	        rq, t, &(struct api_activity_call){ACTIVITY_CODE, code_languages[language], NULL});

	if (code)
		activity_add_text(n, span_of(code));
	return n;
}

void code_note_event(struct activity_note *n, struct command_recorder *r,
                     const struct code_event *event)
{
	bool is_whole;
	struct span text = code_event_text(event, &is_whole);

	if (text.size == 0)
		return;
	activity_add_output(n, text);
	if (!r)
		return;
	command_recorder_add(r, text);
	if (is_whole && text.data[text.size - 1] != '\n')
		command_recorder_add(r, SPAN("\n"));
}

void code_note_end(struct activity_note *n, const struct code_outcome *o)
{
	bool is_ok = !o->has_failed && !o->timed_out && o->exit_code == 0;

	activity_report(n, &(struct activity_result){
	                           .outcome = is_ok ? ACTIVITY_OK : ACTIVITY_FAILED,
	                           .exit_code = o->exit_code,
	                           .duration_ms = o->duration_ms,
	                           .reason = o->timed_out ? "the block exceeded its time" : NULL,
	                   });
}

int code_recorder_new(struct request *rq, const struct api_target *t, const char *code,
                      struct command_recorder **ret, struct error *err)
{
	const struct command_recording recording = {code, ROWS, COLUMNS};

	return command_recorder_new(rq, t, &recording, ret, err);
}

const char *code_recorder_started(struct command_recorder *r, uint64_t process)
{
	if (!r)
		return NULL;
	command_recorder_started(r, &(struct agent_process){.process = process});
	return command_recorder_id(r);
}

void code_recorder_end(struct command_recorder *r)
{
	command_recorder_end(r);
}
