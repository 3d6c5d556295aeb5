// What is done to many users, with a bar that shows how far it is: one request for each, a few at once, or many in one.

import { callMany } from './api.js';
import { short, showNumber, showText } from './show.js';

const atOnce = 4;
const inOne = 100; // so that the bar moves
const mayNot = ({ status }) => [401, 403].includes(status); // with this key, and so with nobody else

/**
 * Does something to each user, until the signal ends it, or the key may not do it. Returns with whom that failed, and why,
 * and the users with whom it was not tried.
 */
export async function doToEach(users, bar, signal, act) {
  const failures = [];
  const waiting = [...users];
  let mayGoOn = true;
  bar.hidden = users.length === 1;
  bar.max = users.length;
  bar.value = 0;
  const work = async () => {
    while (waiting.length > 0 && mayGoOn && !signal.aborted) {
      const user = waiting.shift();
      await act(user).catch((failure) => {
        failures.push({ user, failure });
        mayGoOn &&= !mayNot(failure);
      });
      bar.value += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return { failures, waiting };
}

/**
 * Changes each user, many in one request. What `change` returns for a user as it is now is sent if nobody has changed the
 * user since; what it throws is why not. Ends and returns as doToEach does.
 */
export async function changeEach(users, bar, signal, change) {
  const failures = [];
  let waiting = users;
  bar.hidden = users.length === 1;
  bar.max = users.length;
  bar.value = 0;
  while (waiting.length > 0 && !signal.aborted && !failures.some(({ failure }) => mayNot(failure))) {
    const some = waiting.slice(0, inOne);
    const path = ({ id }) => `/api/users/${id}`; // as the service has it, whatever stands before it here
    const now = await callMany(some.map((user) => ({ method: 'GET', path: path(user) })));
    if (signal.aborted) break;
    waiting = waiting.slice(inOne);
    const sent = [];
    some.forEach((seen, i) => {
      try {
        if (now[i].failure) throw now[i].failure;
        sent.push({ seen, request: { path: path(seen), headers: { 'If-Match': now[i].tag }, ...change(now[i].user, seen) } });
      } catch (failure) {
        failures.push({ user: seen, failure });
      }
    });
    const done = sent.length === 0 ? [] : await callMany(sent.map(({ request }) => request));
    done.forEach(({ failure }, i) => { if (failure) failures.push({ user: sent[i].seen, failure }); });
    bar.value += some.length;
  }
  return { failures, waiting };
}

/** Says how many were gone already, how many it failed with, and how many were not tried: ", 2 failed, 5 not tried". */
export function sayLeft({ gone = [], failures, waiting }) {
  const parts = [[gone, 'not found'], [failures, 'failed'], [waiting, 'not tried']].filter(([users]) => users.length > 0);
  return parts.map(([users, words]) => `, ${showNumber(users.length)} ${words}`).join('');
}

/** Lists the users with whom something failed, and why. */
export function showFailures(list, failures) {
  list.hidden = failures.length === 0;
  list.replaceChildren(...failures.map(({ user, failure }) => {
    const item = document.createElement('li');
    showText(item.appendChild(document.createElement('bdi')), user.name, 60);
    item.append(`: ${short(failure.message, 200)}`);
    return item;
  }));
}
