/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/events.h"

#include "json/json.h"
#include "sandbox/events.h"
#include "store/events.h"

static const struct json_member fleet_event_shape_members[] = {
        JSON_WHOLE_MEMBER(fleet_event, sequence,
                          .about = "grows over all of the server's events; for after="),
        JSON_TIME_MEMBER(fleet_event, at),
        JSON_TEXT_MEMBER(fleet_event, kind, .flags = JSON_OPEN_CHOICES,
                         .choices = event_kind_choices, .example = "sandbox.started"),
        JSON_TEXT_MEMBER(fleet_event, project, .flags = JSON_NULLABLE),
        JSON_TEXT_MEMBER(fleet_event, sandbox, .flags = JSON_NULLABLE, .about = "its id"),
        JSON_TEXT_MEMBER(fleet_event, reason, .flags = JSON_NULLABLE,
                         .about = "why it ends: user, idle, lifetime, oom, exit, host_lost, error, "
                                  "budget, disk; of "
                                  "command.limited the cause: timeout, oom, file_size, disk, "
                                  "process_limit"),
        JSON_TEXT_MEMBER(fleet_event, text, .about = "for people: started in 4 ms"),
        JSON_RAW_MEMBER(
                fleet_event, detail, .flags = JSON_OMIT_EMPTY,
                .about = "of a job: resultId, status, exitCode, cause, conversation, stdout"),
        JSON_RAW_MEMBER(fleet_event, object, .flags = JSON_OMIT_EMPTY,
                        .about = "with=object, sandbox.* events: the sandbox as the list answers "
                                 "it, read after the event; null: its row is gone"),
};
JSON_SHAPE(fleet_event_shape, "Event", fleet_event, "Something that happened");

static const char *null_if_empty(const char *text)
{
	return text && *text ? text : NULL;
}

struct fleet_event fleet_event_of(const struct event_record *r)
{
	return (struct fleet_event){
	        .sequence = r->sequence,
	        .at = r->at,
	        .kind = r->kind,
	        .project = null_if_empty(r->project_id),
	        .sandbox = null_if_empty(r->sandbox_id),
	        .reason = null_if_empty(r->reason),
	        .text = r->text,
	        .detail = span_of(r->detail),
	};
}

void fleet_event_write_with(struct buf *out, const struct event_record *r, struct span object)
{
	struct fleet_event event = fleet_event_of(r);

	event.object = object;
	json_write(out, &fleet_event_shape, &event);
}

void fleet_event_write(struct buf *out, const struct event_record *r)
{
	fleet_event_write_with(out, r, (struct span){NULL, 0});
}
