// SPDX-License-Identifier: Apache-2.0
// lazy.tsx: parts that load when they are first shown. A chunk that is gone (the server was upgraded) offers to reload.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { common as t } from "../text/en";
import { Button } from "./button";
import { Empty, Skeleton } from "./notice";

type Loader<P> = () => Promise<{ default: ComponentType<P> }>;

const loaded = new WeakMap<object, ComponentType<never>>();

export function useLazy<P>(loader: Loader<P>): { component: ComponentType<P> | undefined; hasFailed: boolean } {
  const [state, set] = useState<{ loader: Loader<P>; component?: ComponentType<P>; hasFailed: boolean }>({ loader, hasFailed: false });
  const known = loaded.get(loader) as ComponentType<P> | undefined;
  useEffect(() => {
    let isGone = false;
    if (known) return;
    loader().then(
      (m) => {
        loaded.set(loader, m.default as ComponentType<never>);
        if (!isGone) set({ loader, component: m.default, hasFailed: false });
      },
      () => !isGone && set({ loader, hasFailed: true }),
    );
    return () => {
      isGone = true;
    };
  }, [loader]);
  const isCurrent = state.loader === loader;
  return { component: known ?? (isCurrent ? state.component : undefined), hasFailed: isCurrent && state.hasFailed };
}

/** `load` must be the same function on each render: a constant of the module. */
export function Lazy<P extends object>({ load, props, lines }: { load: Loader<P>; props: P; lines?: number }) {
  const { component: Found, hasFailed } = useLazy(load);
  if (hasFailed) {
    return (
      <Empty icon="reload" title={t.shell.stale} action={<Button kind="primary" onClick={() => location.reload()}>{t.live.reload}</Button>}>
        {t.shell.staleText}
      </Empty>
    );
  }
  return Found ? <Found {...props} /> : <Skeleton lines={lines ?? 6} />;
}
