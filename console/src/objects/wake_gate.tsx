// SPDX-License-Identifier: Apache-2.0
// wake_gate.tsx: asks before it shows what would wake a paused sandbox.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Button } from "../parts/button";
import { Empty } from "../parts/notice";
import type { Sandbox } from "../store/sandboxes";

interface GateProps {
  sandbox: Sandbox;
  title: string;
  text: string;
  /** The word of the button. */
  yes: string;
  icon: string;
  children: () => ComponentChildren;
}

/** A sandbox that pauses while its children are in view keeps them: they were let in. */
export function WakeGate({ sandbox, title, text, yes, icon, children }: GateProps) {
  const [isWoken, setWoken] = useState(sandbox.state !== "paused");
  useEffect(() => {
    if (sandbox.state !== "paused") setWoken(true);
  }, [sandbox.state]);
  if (isWoken) return <>{children()}</>;
  return (
    <Empty icon="pause" title={title} action={<Button kind="primary" icon={icon} onClick={() => setWoken(true)}>{yes}</Button>}>
      {text}
    </Empty>
  );
}
