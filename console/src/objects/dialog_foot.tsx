// SPDX-License-Identifier: Apache-2.0
// dialog_foot.tsx: the buttons below a form in a dialog: cancel, and the one that sends it.
import { Button } from "../parts/button";
import { common as words } from "../text/en";

interface Props {
  isBusy: boolean;
  yes: string;
  /** Why the form cannot be sent. */
  disabledBecause?: string | null;
  onClose: () => void;
}

export function DialogFoot({ isBusy, yes, disabledBecause, onClose }: Props) {
  return (
    <>
      <span class="grow" />
      <Button onClick={onClose}>{words.cancel}</Button>
      <Button type="submit" kind="primary" isBusy={isBusy} disabledBecause={disabledBecause}>
        {yes}
      </Button>
    </>
  );
}
