// What is done to many users, many in one request.

import { callMany } from './api.js';
import { load } from './list.js';
import { choose } from './selection.js';
import { copyOf, count, done, say, short, showNumber } from './show.js';

const inOne = 100; // so that it can be ended
let atWork = 0; // how much of it is done now: who leaves the page then, leaves it half done
export const isAtWork = () => atWork > 0;

const mayNot = ({ failure: { status } }) => [401, 403].includes(status); // with this key, and so with nobody else

/** Does something to users, some at a time, until a signal ends it or the key may not, and returns what became of them. */
async function inSteps(users, act, signal) {
  const [succeeded, failures] = [[], []]; // as they were just before; and why
  let waiting = users;
  atWork += 1;
  while (waiting.length > 0 && !signal?.aborted && !failures.some(mayNot)) {
    const some = waiting.slice(0, inOne);
    const results = await act(some);
    if (results === null) break;
    some.forEach((user, i) => {
      const { failure, before = user } = results[i];
      if (failure) failures.push({ user, failure });
      else succeeded.push(before);
    });
    waiting = waiting.slice(inOne);
  }
  atWork -= 1;
  return { succeeded, failures, waiting };
}

const path = ({ id }) => `/api/users/${id}`; // as the service has it, whatever stands before it here

/** Sends what `change` returns for each user as it is now, if nobody has changed the user since; or it is a failure. */
export const changeEach = (users, change, signal) => inSteps(users, async (some) => {
  const now = await callMany(some.map((user) => ({ method: 'GET', path: path(user) })));
  if (signal?.aborted) return null;
  const results = now.map(({ user, tag, failure }, i) => (
    failure ? { failure } : { before: user, tag, ...change(user, some[i]) }));
  const sent = results.filter(({ failure }) => !failure);
  const answers = sent.length === 0 ? [] : await callMany(sent.map(({ before, tag, method, body }) => (
    { method, path: path(before), headers: { 'If-Match': tag }, body })));
  sent.forEach((result, i) => { result.failure = answers[i].failure; });
  return results;
}, signal);

/** Restores users who were deleted, with their ids. A failure has the code of a problem. */
export const restoreEach = (users) => inSteps(users, (some) => callMany(
  some.map((user) => ({ method: 'POST', path: `${path(user)}/restore`, headers: { Accept: 'application/problem+json' } })),
));

/** Does to users what a dialog asks for, until it is closed. Returns those who stay, because it failed with them. */
export async function changeAll(dialog, users, verb, change, undo) {
  const form = dialog.querySelector('form');
  if (form.ariaBusy) return [];
  const ending = new AbortController();
  const { signal } = ending;
  dialog.addEventListener('close', () => {
    ending.abort();
    form.ariaBusy = null;
  }, { once: true });
  form.ariaBusy = 'true';
  showFailures(dialog, '');
  const { succeeded, failures, waiting } = await changeEach(users, change, signal);
  const gone = failures.filter(({ failure }) => failure.status === 404); // somebody else has deleted them
  const failed = failures.filter((one) => !gone.includes(one));
  const stay = [...failed.map(({ user, failure }) => failure.now ?? user), ...waiting];
  const staying = new Set(stay.map(({ id }) => id));
  choose(users.map(({ id }) => id).filter((id) => !staying.has(id)), false);
  const words = users.length === 1 && succeeded.length === 1 ? `${short(users[0].name)} was ${verb}`
    : `${count(succeeded.length)} ${verb}${sayLeft({ gone, failures: failed, waiting })}`;
  if (!signal.aborted) {
    form.ariaBusy = null;
    if (stay.length > 0) showFailures(dialog, words, failed);
    else dialog.close();
  }
  if (succeeded.length > 0) done(words, () => undo(succeeded));
  else if (!dialog.open || signal.aborted) say(words);
  if (stay.length < users.length) load();
  return signal.aborted ? [] : stay; // the dialog may be about others by now
}

/** Says how many were gone already, how many it failed with, and how many were not tried: ", 2 failed, 5 not tried". */
export function sayLeft({ gone = [], failures, waiting }) {
  const parts = [[gone, 'not found'], [failures, 'failed'], [waiting, 'not tried']].filter(([users]) => users.length > 0);
  return parts.map(([users, words]) => `, ${showNumber(users.length)} ${words}`).join('');
}

export function showFailures(dialog, words, failures = []) {
  dialog.querySelector('.error').textContent = words;
  const list = dialog.querySelector('.failed');
  list.hidden = failures.length === 0;
  list.replaceChildren(...failures.map(({ user, failure }) => (
    copyOf('#failure', { bdi: short(user.name), span: short(failure.message, 200) }))));
}
