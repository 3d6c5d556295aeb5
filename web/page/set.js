// Giving all selected users the same value of a field.

import { call, readUser } from './api.js';
import { choose, chosenUsers, load } from './list.js';
import { doToEach, showFailures } from './many.js';
import { count, say } from './show.js';

const dialog = document.querySelector('#set');
const find = (selector) => dialog.querySelector(selector);

let working = null; // stops what is under way

export function setField() {
  find('#set-value').value = '';
  find('h2').textContent = `Set a field of ${count(chosenUsers().length)}`;
  find('progress').hidden = true;
  show([], '');
  dialog.showModal();
}

find('form').addEventListener('submit', async (event) => {
  event.preventDefault();
  if (working) return;
  working = new AbortController();
  show([], '');
  await setAll(find('#set-field').value, find('#set-value').value, working.signal);
  working = null;
});

dialog.addEventListener('close', () => working?.abort());

/** Those with whom it has failed stay selected: one can try again. */
async function setAll(field, value, signal) {
  const users = chosenUsers();
  const { failures, waiting } = await doToEach(users, find('progress'), signal, async (user) => {
    await setOne(user, field, value);
    choose([String(user.id)], false);
  });
  const words = `${count(users.length - failures.length - waiting.length)} changed`;
  if (failures.length === 0 || !dialog.open) {
    dialog.close();
    say(failures.length > 0 ? `${words}, ${failures.length} failed` : words);
  } else {
    show(failures, `${words}, ${failures.length} failed:`);
  }
  load();
}

/** Changes a user, unless somebody else has changed the field since the person saw it. */
async function setOne({ id, ...seen }, field, value) {
  const { user, tag } = await readUser(id);
  if (user[field] !== seen[field]) throw new Error('Somebody else has changed this field meanwhile');
  await call('PATCH', `api/users/${id}`, { body: JSON.stringify({ [field]: value }), headers: { 'If-Match': tag } });
}

function show(failures, words) {
  find('.error').textContent = words;
  showFailures(find('.failed'), failures);
}
