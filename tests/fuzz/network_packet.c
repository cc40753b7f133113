/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the kernel's log of packets; the packets are hostile. What is taken for a decision is
 * a sound one. */
#include "decision/packet.h"

#include <assert.h>
#include <stdint.h>

#include "sandbox/decision.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct network_decision d;

	if (packet_decision((struct span){(const char *)data, size}, &d))
		assert(decision_is_sound(&d));
	return 0;
}
