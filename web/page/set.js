// Giving all selected users the same value of a field.

import { load } from './list.js';
import { changeEach, sayLeft, showFailures } from './many.js';
import { choose, chosenUsers } from './selection.js';
import { count, inputFor, inputs, say, textOf } from './show.js';
import { done, undoChanges } from './undo.js';

const dialog = document.querySelector('#set');
const find = (selector) => dialog.querySelector(selector);

const [field, empty] = ['#set-field', '#set-empty'].map(find);
let value = find('#set-value'); // the input that the field has

let working = null; // stops what is under way

export function setField() {
  working = null;
  [field.value, value.value, empty.checked] = ['', '', false];
  find('progress').hidden = true;
  show([], '');
  dialog.showModal();
}

find('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (working || !isChosen()) return;
  const mine = new AbortController();
  working = mine;
  show([], '');
  await setAll(field.value, empty.checked ? null : textOf(value), mine.signal);
  if (working === mine) working = null;
});

dialog.addEventListener('close', () => working?.abort());
dialog.addEventListener('change', sayWhat);

/** Says on the button what it would do. */
function sayWhat() {
  const of = field.value === '' ? '' : ` ${inputs.get(field.value).labels[0].textContent} for ${count(chosenUsers().length)}`;
  find('.primary').textContent = (empty.checked ? 'Empty' : 'Set') + of;
  value = inputFor(field.value, value);
  value.disabled = empty.checked;
}

/** Reports whether a field and what it becomes are chosen, or says what is not. Nothing is emptied by mistake. */
function isChosen() {
  const missing = field.value === '' ? field : value.value === '' && !empty.checked ? value : null;
  if (!missing) return true;
  show([], missing === field ? 'Choose a field' : 'Type a value, or choose to empty the field');
  missing.focus();
  return false;
}

/** Those with whom it has failed stay selected, unless they are gone: one can try again. */
async function setAll(name, text, signal) {
  const users = chosenUsers();
  const left = await changeEach(users, find('progress'), signal, (user, seen) => setOne(user, seen, name, text));
  const isThere = left.failures.filter(({ failure }) => failure.status !== 404);
  const stay = new Set([...isThere.map(({ user }) => user), ...left.waiting]);
  choose(users.filter((user) => !stay.has(user)).map(({ id }) => id), false);
  const failed = left.failures.length + left.waiting.length;
  const words = `${count(users.length - failed)} changed${sayLeft(left)}`;
  if (left.done.length === 0 && signal.aborted) say(words);
  if (failed > 0 && !signal.aborted) {
    show(left.failures, words);
  } else {
    if (!signal.aborted) dialog.close();
    if (chosenUsers().length === 0) document.querySelector('#list').focus({ preventScroll: true }); // the bar is gone
  }
  const changes = left.done.map((user) => ({
    id: user.id, name: user.name, before: { [name]: user[name] }, after: { [name]: text },
  }));
  if (changes.length > 0) done(words, () => undoChanges(changes));
  load();
}

/** Changes a user, unless somebody else has changed the field since the person saw it. */
function setOne(user, seen, name, text) {
  if (user[name] !== seen[name]) throw new Error('Somebody else has changed this field meanwhile');
  return { method: 'PATCH', body: { [name]: text } };
}

function show(failures, words) {
  find('h2').textContent = `Set a field of ${count(chosenUsers().length)}`;
  sayWhat();
  find('.error').textContent = words;
  showFailures(find('.failed'), failures);
}
