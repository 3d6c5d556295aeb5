// What others write while the page is open. The page says that there is something new, and shows it only when a person asks
// for it: no row moves under the pointer. Where changes are not recorded it asks for its list again.

import { call, questions, readJSON, tagOf } from './api.js';

const longestAnswer = 55; // s that a request waits for a change
const pause = 4_000; // ms before a request: what is new is seen within 5 s

const news = document.querySelector('#news');
const begin = questions();
let list = null; // what is followed

/** Follows what comes after a list, which was read with a query, has these headers, and shows these users. */
export function followFrom(query, headers, users) {
  if (news === document.activeElement) document.querySelector('#list').focus({ preventScroll: true });
  news.hidden = true;
  list = { query, tag: tagOf(headers), after: headers.get('Changes-Cursor'), users };
  restart();
}

/** Stops until the list is loaded: its cursor comes after the page's own writes. */
export function stopFollowing() {
  list = null;
  restart();
}

/** Only a tab that can be seen asks: a browser has few connections to a service, and the service few places to wait. */
function restart() {
  const signal = begin();
  if (list && !document.hidden) follow(list, signal);
}

document.addEventListener('visibilitychange', restart);

const sleep = (time) => new Promise((wake) => { setTimeout(wake, time); });

/** Asks until there is what the list does not show already. What comes behind a dialog may be what the dialog writes. */
async function follow({ query, tag, after, users }, signal) {
  for (let isNew = false, wait = longestAnswer; !isNew;) {
    await sleep(pause);
    if (signal.aborted) return;
    try {
      const options = { signal, mayAsk: false, headers: after === null ? { 'If-None-Match': tag } : {} };
      if (after === null) {
        isNew = (await call('GET', `api/users?${query}`, options)).status !== 304;
      } else {
        const answer = await call('GET', `api/changes?${new URLSearchParams({ after, wait })}`, options);
        const { changes, next } = await readJSON(answer);
        isNew = changes.some(({ id, user }) => !user || JSON.stringify(user) !== JSON.stringify(users.get(id)));
        after = next;
      }
    } catch (error) {
      isNew = error.status === 410; // the service cannot tell any more
      if (error.status === 503) wait = 0; // too many wait already: it asks now and then
      if (signal.aborted || error.status < 500 && !isNew) return; // who is refused, or signed out, asks no more
    }
  }
  while (document.querySelector('dialog[open]')) await sleep(pause);
  if (!signal.aborted) news.hidden = false;
}
