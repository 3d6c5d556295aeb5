// What others write while the page is open. The page says how many changes there are, and shows them only when a person
// asks for them: no row moves under the pointer. Where changes are not recorded it asks for its list again.

import { Refusal, SignedOut, call, readJSON, tagOf } from './api.js';
import { count } from './show.js';

const longestAnswer = 55; // s that a request waits for a change
const [shortest, usual, longest] = [1_000, 4_000, 30_000]; // ms between two requests: what is new is seen within 5 s
const many = 1000; // changes that are no longer counted

const news = document.querySelector('#news');

let feed = null; // where the page is in the feed
let asking = new AbortController();

/** Follows what comes after a list, which was read with a query, has these headers, and shows these users. */
export function followFrom(query, headers, shown) {
  if (news === document.activeElement) document.querySelector('#list').focus({ preventScroll: true });
  news.hidden = true;
  feed = { query, tag: tagOf(headers), cursor: headers.get('Changes-Cursor'), shown, changed: 0, wait: longestAnswer };
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

/** Asks until the feed has gone. While changes come, and while no answer does, it asks less often. */
async function follow(mine, signal) {
  for (let pause = shortest; mine.changed < many;) {
    await sleep(pause);
    if (signal.aborted) return;
    try {
      const isNew = await look(mine, signal);
      pause = isNew || mine.wait === 0 ? usual : shortest;
    } catch (error) {
      if (signal.aborted || error instanceof SignedOut || error instanceof Refusal && error.status < 500) return;
      if (error.status === 503) mine.wait = 0; // too many wait already: it asks now and then
      pause = Math.min(pause * 4, longest);
    }
  }
}

/** Waits for changes, and reports whether there are any. What comes behind a dialog may be what the dialog writes. */
async function look(mine, signal) {
  const { changes, next } = await (mine.cursor === null ? readList : readFeed)(mine, signal);
  while (document.querySelector('dialog[open]')) await sleep(shortest);
  signal.throwIfAborted();
  mine.cursor = next;
  mine.changed += changes.filter((change) => !isShown(change, mine.shown)).length;
  if (changes.some(({ op }) => op === 'many')) mine.changed = many;
  if (changes.length > 0) say(mine);
  return changes.length > 0;
}

/** A screen reader says what is set, so nothing is set again. */
function say({ changed, cursor }) {
  news.hidden = changed === 0;
  const words = cursor === null ? 'Something has changed' : 'Many changes';
  news.textContent = `${changed < many ? count(changed, 'change') : words} — show`;
}

/** Asks for the list again, where there is no feed. What has changed in it is not counted. */
async function readList(mine, signal) {
  mine.wait = 0;
  const headers = { 'If-None-Match': mine.tag };
  try {
    const answer = await call('GET', `api/users?${mine.query}`, { signal, headers, mayAsk: false });
    await readJSON(answer, signal);
    return { changes: tagOf(answer.headers) === mine.tag ? [] : [{ op: 'many' }], next: null };
  } catch (error) {
    if (error.status !== 304) throw error;
    return { changes: [], next: null };
  }
}

/** Reads what comes after a cursor. If the service cannot tell any more, it may be anything. */
async function readFeed({ cursor: after, wait }, signal) {
  const query = new URLSearchParams({ after, wait });
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
