/* SPDX-License-Identifier: Apache-2.0 */
#include "isolation/plan.h"

const struct wire_member setup_step_shape[] = {
        WIRE_U32_MEMBER(setup_step, kind),
        WIRE_U32_MEMBER(setup_step, fd),
        WIRE_U64_MEMBER(setup_step, value),
        WIRE_TEXT_MEMBER(setup_step, source, STEP_SOURCE_MAX),
        WIRE_TEXT_MEMBER(setup_step, target, STEP_TEXT_MAX),
        WIRE_TEXT_MEMBER(setup_step, type, STEP_TEXT_MAX),
        WIRE_TEXT_MEMBER(setup_step, options, STEP_TEXT_MAX),
        WIRE_U32_MEMBER(setup_step, flags),
        WIRE_U32_MEMBER(setup_step, optional),
        WIRE_END,
};
