// Giving all selected users the same value of a field.

import { choose, chosenUsers, load } from './list.js';
import { changeEach, sayLeft, showFailures } from './many.js';
import { count, say } from './show.js';

const dialog = document.querySelector('#set');
const find = (selector) => dialog.querySelector(selector);

let working = null; // stops what is under way

export function setField() {
  working = null;
  find('#set-value').value = '';
  find('progress').hidden = true;
  show([], '');
  dialog.showModal();
}

find('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (working) return;
  const mine = new AbortController();
  working = mine;
  show([], '');
  await setAll(find('#set-field').value, find('#set-value').value, mine.signal);
  if (working === mine) working = null;
});

dialog.addEventListener('close', () => working?.abort());

/** Those with whom it has failed stay selected, unless they are gone: one can try again. */
async function setAll(field, value, signal) {
  const users = chosenUsers();
  const left = await changeEach(users, find('progress'), signal, (user, seen) => setOne(user, seen, field, value));
  const isThere = left.failures.filter(({ failure }) => failure.status !== 404);
  const stay = new Set([...isThere.map(({ user }) => user), ...left.waiting]);
  choose(users.filter((user) => !stay.has(user)).map(({ id }) => id), false);
  const failed = left.failures.length + left.waiting.length;
  const words = `${count(users.length - failed)} changed${sayLeft(left)}`;
  if (failed > 0 && !signal.aborted) {
    show(left.failures, words);
  } else {
    if (!signal.aborted) dialog.close();
    if (chosenUsers().length === 0) document.querySelector('#list').focus({ preventScroll: true }); // the bar is gone
    say(words);
  }
  load();
}

/** Changes a user, unless somebody else has changed the field since the person saw it. */
function setOne(user, seen, field, value) {
  if (user[field] !== seen[field]) throw new Error('Somebody else has changed this field meanwhile');
  return { method: 'PATCH', body: { [field]: value } };
}

function show(failures, words) {
  find('h2').textContent = `Set a field of ${count(chosenUsers().length)}`;
  find('.error').textContent = words;
  showFailures(find('.failed'), failures);
}
