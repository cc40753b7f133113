// SPDX-License-Identifier: Apache-2.0
// memo.ts: a component that renders again only when `isSame` says no, or when a signal that it reads changes.
import { Component, h, type ComponentType, type FunctionComponent } from "preact";

export function memo<P extends object>(inner: FunctionComponent<P>, isSame: (a: P, b: P) => boolean): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return !isSame(this.props, next);
    }

    override render() {
      return h(inner, this.props as P & Record<string, never>);
    }
  };
}
