/** Renders a page at most once a second, so a peer with endless requests cannot slow down the operator. */
import type { Page } from './page-server.ts';

const MAX_AGE_MS = 1_000;

export function sharedPage(render: () => Promise<Page>, now: () => number): () => Promise<Page> {
  let last: { at: number; page: Promise<Page> } | undefined;
  return () => {
    const at = now();
    if (last === undefined || at - last.at >= MAX_AGE_MS) last = { at, page: render() };
    return last.page;
  };
}
