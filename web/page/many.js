// What is done to many users: one request for each, a few at once, with a bar that shows how far it is.

import { short, showNumber, showText } from './show.js';

const atOnce = 4;

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
        mayGoOn &&= ![401, 403].includes(failure.status);
      });
      bar.value += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
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
