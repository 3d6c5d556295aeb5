// What is done to many users, many in one request, with a bar that shows how far it is.

import { callMany } from './api.js';
import { short, showNumber, showText } from './show.js';

const inOne = 100; // so that the bar moves, and the most that a parameter may be repeated
const mayNot = ({ status }) => [401, 403].includes(status); // with this key, and so with nobody else

/**
 * Does something to users, some at a time, until the signal ends it, or the key may not do it. `act` returns what became
 * of each. Returns those with whom it succeeded, as they were just before; those with whom it failed, and why; and those
 * with whom it was not tried.
 */
async function inSteps(users, bar, signal, act) {
  const [done, failures] = [[], []];
  let waiting = users;
  bar.hidden = users.length === 1;
  bar.max = users.length;
  bar.value = 0;
  while (waiting.length > 0 && !signal.aborted && !failures.some(({ failure }) => mayNot(failure))) {
    const some = waiting.slice(0, inOne);
    const results = await act(some);
    if (results === null) break;
    waiting = waiting.slice(inOne);
    some.forEach((user, i) => {
      const { failure, before = user } = results[i];
      if (failure) failures.push({ user, failure });
      else done.push(before);
    });
    bar.value += some.length;
  }
  return { done, failures, waiting };
}

const path = ({ id }) => `/api/users/${id}`; // as the service has it, whatever stands before it here

/**
 * Changes each user. What `change` returns for a user as it is now is sent if nobody has changed the user since; what it
 * throws is why not.
 */
export const changeEach = (users, bar, signal, change) => inSteps(users, bar, signal, async (some) => {
  const now = await callMany(some.map((user) => ({ method: 'GET', path: path(user) })));
  if (signal.aborted) return null;
  const results = some.map((seen, i) => {
    const { user, tag, failure } = now[i];
    if (failure) return { failure };
    try {
      return { before: user, request: { path: path(seen), headers: { 'If-Match': tag }, ...change(user, seen) } };
    } catch (error) {
      return { failure: error };
    }
  });
  const sent = results.filter(({ request }) => request);
  const answers = sent.length === 0 ? [] : await callMany(sent.map(({ request }) => request));
  sent.forEach((result, i) => { result.failure = answers[i].failure; });
  return results;
});

/** Restores users who were deleted, with their ids. A failure has the code of a problem. */
export const restoreEach = (users, bar, signal) => inSteps(users, bar, signal, (some) => callMany(
  some.map((user) => ({ method: 'POST', path: `${path(user)}/restore`, headers: { Accept: 'application/problem+json' } })),
));

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
