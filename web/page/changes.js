// What others write while the page is open. The page says how many changes there are, and shows them only when a person
// asks for them: no row moves under the pointer.

import { Refusal, call, readJSON } from './api.js';
import { count } from './show.js';

const longestAnswer = 55; // s that a request waits for a change
const [shortest, longest] = [1_000, 30_000]; // ms between two requests
const many = 1000; // changes that are no longer counted

const news = document.querySelector('#news');

let feed = null; // where the page is in the feed
let asking = new AbortController();

/** Follows the feed after the cursor of a list, which shows these users. There is no cursor where nothing is recorded. */
export function followFrom(cursor, shown) {
  if (news === document.activeElement) document.querySelector('#list').focus({ preventScroll: true });
  news.hidden = true;
  feed = cursor === null ? null : { cursor, shown, changed: 0 };
  restart();
}

/** Stops until the list is loaded: its cursor comes after the page's own writes. */
export function stopFollowing() {
  feed = null;
  restart();
}

/** Only a tab that can be seen asks: a browser has few connections to a service, and the service few places to wait. */
function restart() {
  asking.abort();
  asking = new AbortController();
  if (feed && !document.hidden) follow(feed, asking.signal);
}

document.addEventListener('visibilitychange', restart);

const sleep = (time) => new Promise((wake) => { setTimeout(wake, time); });

/** Asks until the feed has gone. The more comes, and the longer no answer does, the less often it asks. */
async function follow(mine, signal) {
  for (let pause = shortest; mine.changed < many;) {
    await sleep(pause);
    if (signal.aborted) return;
    try {
      const isNew = await look(mine, signal);
      pause = isNew ? Math.min(pause * 5, longest) : shortest;
    } catch (error) {
      if (signal.aborted || error instanceof Refusal && error.status < 500) return;
      pause = Math.min(pause * 5, longest);
    }
  }
}

/** Waits for changes, and reports whether there are any. What comes behind a dialog may be what the dialog writes. */
async function look(mine, signal) {
  const { changes, next } = await read(mine.cursor, signal);
  while (document.querySelector('dialog[open]')) await sleep(shortest);
  signal.throwIfAborted();
  mine.cursor = next;
  mine.changed += changes.filter((change) => !isShown(change, mine.shown)).length;
  if (changes.some(({ op }) => op === 'many')) mine.changed = many;
  if (changes.length > 0) say(mine.changed);
  return changes.length > 0;
}

/** A screen reader says what is set, so nothing is set again. */
function say(changed) {
  news.hidden = changed === 0;
  news.textContent = `${changed < many ? count(changed, 'change') : 'Many changes'} — show`;
}

/** Reads what comes after a cursor. If the service cannot tell any more, it may be anything. */
async function read(after, signal) {
  const query = new URLSearchParams({ after, wait: longestAnswer });
  try {
    const answer = await call('GET', `api/changes?${query}`, { signal, mayAsk: false });
    return await readJSON(answer, signal);
  } catch (error) {
    if (error.status !== 410) throw error;
    return { changes: [{ op: 'many' }] };
  }
}

/** Reports whether the list has a user as it is now: some of what a list has may come again. */
const isShown = ({ id, user }, shown) => user && JSON.stringify(user) === JSON.stringify(shown.get(id));
