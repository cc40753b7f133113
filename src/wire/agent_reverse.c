/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/agent_reverse.h"

const struct wire_member agent_hello_shape[] = {
        WIRE_U32_MEMBER(agent_hello, protocol),
        WIRE_U64_MEMBER(agent_hello, stream),
        WIRE_TEXT_MEMBER(agent_hello, token, AGENT_TOKEN_MAX),
        WIRE_END,
};
const struct wire_member agent_open_shape[] = {
        WIRE_U64_MEMBER(agent_open, stream),
        WIRE_END,
};
