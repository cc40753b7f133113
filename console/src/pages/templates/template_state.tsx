// SPDX-License-Identifier: Apache-2.0
// template_state.tsx: the state of a template. One that is pending waits for its first use; nothing moves.
import type { Template } from "../../api/generated";
import { Chip, StateChip } from "../../parts/chip";
import { showHidden } from "../../parts/safe";
import { templates as t } from "../../text/en";

export function TemplateState({ template }: { template: Template }) {
  if (template.state === "pending" && !template.state_text) return <Chip tip={t.onFirstUseTip}>{t.onFirstUse}</Chip>;
  return <StateChip state={template.state} note={template.state_text && showHidden(template.state_text, 200)} />;
}
