// Giving all selected users the same value of a field.

import { changeAll, showFailures } from './many.js';
import { chosenUsers } from './selection.js';
import { count, inputFor, labelOf, textOf } from './show.js';
import { undoChanges } from './undo.js';

const dialog = document.querySelector('#set');
const find = (selector) => dialog.querySelector(selector);
const [field, empty] = ['#set-field', '#set-empty'].map(find);
let value = find('#set-value'); // the input that the field has
let users = []; // who were selected when the dialog was opened

export function setField() {
  users = chosenUsers();
  [field.value, value.value, empty.checked] = ['', '', false];
  showFailures(dialog, '');
  sayWhat();
  dialog.showModal();
}

dialog.addEventListener('change', sayWhat);

function sayWhat() {
  const whom = count(users.length);
  const ofField = field.value && ` ${labelOf(field.value)} for ${whom}`;
  find('h2').textContent = `Set a field of ${whom}`;
  find('.primary').textContent = (empty.checked ? 'Empty' : 'Set') + ofField;
  value = inputFor(field.value, value);
  value.disabled = empty.checked; // otherwise it is required: nothing is emptied by mistake
}

find('form').addEventListener('submit', async () => {
  const [name, text] = [field.value, empty.checked ? null : textOf(value)];
  const left = await changeAll(dialog, users, 'changed', (user, seen) => (
    user[name] === seen[name] ? { method: 'PATCH', body: { [name]: text } }
      : { failure: new Error('Somebody else has changed this field meanwhile') }
  ), (some) => undoChanges(some.map((user) => (
    { id: user.id, name: user.name, before: { [name]: user[name] }, after: { [name]: text } }))));
  if (left.length === 0) return;
  users = left;
  sayWhat();
});
