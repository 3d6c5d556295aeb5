// The rows of the list: one for each user, with the email below the name; and which columns they have. What a person
// chooses is kept in this browser.

import { copyOf, short, showField } from './show.js';
import { onDevice } from './store.js';

const usual = 12; // columns beside name and email: they fill the two lines of a row
const body = document.querySelector('#list tbody');
const boxes = [...document.querySelectorAll('#columns input')];

/** Shows users. The focus stays on the same control of the same user, or of the one who took the place. */
export function showRows(users) {
  const control = document.activeElement;
  const row = control.closest('#list tbody tr');
  const at = row?.sectionRowIndex;
  body.replaceChildren(...users.map(rowOf));
  if (!row) return;
  const tr = body.querySelector(`[data-id="${row.dataset.id}"]`) ?? body.rows[Math.min(at, body.rows.length - 1)];
  const same = tr?.querySelector(control.dataset.action ? `[data-action="${control.dataset.action}"]` : 'input');
  (same ?? document.querySelector('#q')).focus({ preventScroll: true });
}

function rowOf(user) {
  const tr = copyOf('#row', { '.name bdi': user.name });
  tr.dataset.id = user.id;
  tr.querySelector('input').ariaLabel = `Select ${short(user.name)}`;
  showField(tr.querySelector('.email'), user.email);
  for (const cell of tr.querySelectorAll('[data-column]')) showField(cell, user[cell.dataset.column]);
  for (const button of tr.querySelectorAll('button')) button.ariaLabel = `${button.title} ${short(user.name)}`;
  return tr;
}

const hidden = new Set(JSON.parse(onDevice.getItem('hidden')) ?? boxes.slice(usual).map(({ value }) => value));

function showColumns() {
  for (const part of [document.querySelector('#list'), document.querySelector('#row').content]) {
    for (const cell of part.querySelectorAll('[data-column]')) cell.hidden = hidden.has(cell.dataset.column);
  }
}

for (const box of boxes) {
  box.checked = !hidden.has(box.value);
  box.addEventListener('change', () => {
    hidden[box.checked ? 'delete' : 'add'](box.value);
    onDevice.setItem('hidden', JSON.stringify([...hidden]));
    showColumns();
  });
}
showColumns();
