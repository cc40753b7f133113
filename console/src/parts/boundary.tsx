// SPDX-License-Identifier: Apache-2.0
// boundary.tsx: a part that breaks takes nothing else with it.
import { Component, type ComponentChildren } from "preact";
import { asApiError, type ApiError } from "../api/errors";
import { common as t } from "../text/en";
import { ErrorNote } from "./notice";

export class Boundary extends Component<{ children: ComponentChildren; what?: string }, { error: ApiError | null }> {
  override state = { error: null as ApiError | null };

  override componentDidCatch(thrown: unknown): void {
    console.error(thrown);
    this.setState({ error: asApiError(thrown) });
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return <ErrorNote error={this.state.error} what={this.props.what ?? t.broken} onRetry={() => this.setState({ error: null })} />;
  }
}
