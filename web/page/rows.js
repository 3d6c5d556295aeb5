// The rows of the list: one for each user, with the email below the name.

import { initial, short, showEmail, showField, showText } from './show.js';

const template = document.querySelector('#row').content;
const body = document.querySelector('#list tbody');

/** Shows users, below the one whose id was searched for. The focus stays where it is. */
export function showRows(users, sought = null) {
  const focused = focusInRows();
  body.replaceChildren(...users.map((user) => row(user, user.id === sought?.id)));
  if (focused) focusAgain(focused);
}

function row(user, isSought) {
  const tr = template.cloneNode(true).firstElementChild;
  tr.dataset.id = user.id;
  tr.querySelector('input').ariaLabel = `Select ${short(user.name)}`;
  if (isSought) tr.querySelector('.name small').textContent = `ID ${user.id}`;
  const letter = tr.querySelector('.initial');
  letter.textContent = initial(user.name);
  letter.dataset.tint = Math.abs(user.id % 6);
  showText(tr.querySelector('.name bdi'), user.name);
  showEmail(tr.querySelector('.email bdi'), user.email);
  for (const cell of tr.querySelectorAll('[data-column]')) showField(cell, user[cell.dataset.column]);
  for (const button of tr.querySelectorAll('button')) {
    const word = button.dataset.action === 'change' ? 'Change' : 'Delete';
    button.title = word;
    button.ariaLabel = `${word} ${short(user.name)}`;
  }
  return tr;
}

const kind = (control) => (control.dataset.action ? `[data-action="${control.dataset.action}"]` : '.tick input');

/** Returns where in the rows the focus is. */
function focusInRows() {
  const tr = document.activeElement?.closest('#list tbody tr');
  return tr && { id: tr.dataset.id, at: tr.sectionRowIndex, control: kind(document.activeElement) };
}

/** Puts the focus on the same control of the same user, or of the one who took the place. */
function focusAgain({ id, at, control }) {
  const tr = body.querySelector(`[data-id="${id}"]`) ?? body.rows[Math.min(at, body.rows.length - 1)];
  (tr?.querySelector(control) ?? document.querySelector('#q')).focus({ preventScroll: true });
}

/** The arrow keys lead from a control to the same one of the next user, or of the one before. */
body.addEventListener('keydown', (event) => {
  const to = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
  if (!to) return;
  event.preventDefault();
  event.target.closest('tr')[to]?.querySelector(kind(event.target)).focus();
});
