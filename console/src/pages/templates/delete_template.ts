// SPDX-License-Identifier: Apache-2.0
// delete_template.ts: the end of a template, after a question.
import { call } from "../../api/call";
import { asApiError } from "../../api/errors";
import { deleteApiSandboxTemplatesTemplate, type Template } from "../../api/generated";
import { ask } from "../../parts/dialog";
import { showHidden } from "../../parts/safe";
import { templates } from "../../store/lists";
import { missingScope, projectId } from "../../store/session";
import { showToast, toastError } from "../../store/toasts";
import { common as shared, templates as t } from "../../text/en";

export function whyNotDelete(template: Template): string | null {
  const scope = missingScope(deleteApiSandboxTemplatesTemplate);
  if (scope) return shared.missingScope(scope);
  return template.project !== null && template.project !== projectId.value ? t.shared : null;
}

/** Resolves with whether the template is gone. */
export async function askDeleteTemplate(template: Template): Promise<boolean> {
  const name = showHidden(template.name, 60);
  if (!(await ask({ title: t.deleteTitle(name), text: t.deleteText, yes: shared.delete, isDangerous: true }))) return false;
  try {
    await call(deleteApiSandboxTemplatesTemplate, { path: { template: template.id } });
    templates.remove(template.id);
    showToast({ kind: "done", text: t.deleted(name) });
    return true;
  } catch (thrown) {
    toastError(asApiError(thrown));
    return false;
  }
}
