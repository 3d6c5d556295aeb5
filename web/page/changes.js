// What is written while the page is open, by anyone. The page says how many changes there are, and shows them only when a
// person asks for them: no row moves under the pointer.

import { Refusal, call, whole } from './api.js';
import { count } from './show.js';

const longestAnswer = 55; // s that a request waits for a change
const pause = 5_000; // ms after a failure

const news = document.querySelector('#news');

let last = { stop: new AbortController() };

/** Follows the feed after a cursor until the next call. There is no cursor where changes are not recorded. */
export function followFrom(cursor) {
  last.stop.abort();
  last = { cursor, stop: new AbortController(), changed: 0 };
  news.hidden = true;
  if (cursor !== null) follow(last);
}

/** Waits for changes while the page can be seen. Where the feed or the cursor has gone, the next load begins again. */
async function follow(feed) {
  const { signal } = feed.stop;
  while (!signal.aborted && feed === last) {
    if (document.hidden) await new Promise((seen) => { document.addEventListener('visibilitychange', seen, { once: true }); });
    try {
      const query = new URLSearchParams({ after: feed.cursor, wait: longestAnswer });
      const { changes, next } = await whole((await call('GET', `api/changes?${query}`, { signal })).json(), signal);
      feed.cursor = next;
      show(feed, changes);
    } catch (error) {
      if (signal.aborted || error instanceof Refusal && error.status < 500) return;
      await new Promise((again) => { setTimeout(again, pause); });
    }
  }
}

function show(feed, changes) {
  if (changes.length === 0 || feed !== last) return;
  feed.changed = changes.some(({ op }) => op === 'many') ? Infinity : feed.changed + changes.length;
  news.textContent = `${feed.changed < 1000 ? count(feed.changed, 'change') : 'Many changes'} — show`;
  news.hidden = false;
}
