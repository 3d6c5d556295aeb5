// Where the page begins: it shows the place that the address names, and connects what people do with what happens.

import { addUser, changeUser } from './change.js';
import { deleteUsers } from './delete.js';
import { exportUsers } from './export.js';
import { importUsers, isFile } from './import.js';
import * as list from './list.js';

const typingPause = 200; // ms without a key before a search is sent

const find = (selector) => document.querySelector(selector);
const on = (selector, event, action) => find(selector).addEventListener(event, action);

const opens = { add: addUser, import: () => importUsers(), export: exportUsers };

document.addEventListener('click', ({ target }) => {
  target.closest('[data-close]')?.closest('dialog').close();
  opens[target.closest('[data-open]')?.dataset.open]?.();
});

// Search as one types: a new entry of the history for each visit of the field, not for each letter.
let typing;
let isNew = true;
function search() {
  clearTimeout(typing);
  const q = find('#q').value;
  if (q === list.currentPlace().q) return;
  list.goTo({ q }, { isNew });
  isNew = false;
}
on('#q', 'focus', () => { isNew = true; });
on('#q', 'input', () => {
  clearTimeout(typing);
  typing = setTimeout(search, typingPause);
});
on('#find', 'submit', (event) => {
  event.preventDefault();
  search();
});
on('#clear', 'click', () => {
  find('#q').value = '';
  find('#q').focus();
  search();
});

on('#order', 'change', ({ target }) => list.goTo({ order: target.value }));
on('#first', 'click', () => list.turnTo(null, 1));
on('#previous', 'click', list.goToPrevious);
on('#next', 'click', list.goToNext);
on('#again', 'click', () => list.load());
on('#news', 'click', () => list.load());
window.addEventListener('popstate', list.follow);
window.addEventListener('online', () => list.load());
window.addEventListener('offline', () => list.load());

on('#all', 'change', ({ target }) => list.choose(target.checked));
on('#unchoose', 'click', () => {
  list.choose(false);
  find('#all').focus();
});
on('#delete-chosen', 'click', () => deleteUsers(list.isChosen()));
on('#list tbody', 'change', list.showChosen);
on('#list tbody', 'click', ({ target }) => {
  const action = target.closest('[data-action]')?.dataset.action;
  const id = target.closest('tr').dataset.id;
  if (action === 'change') changeUser(id);
  if (action === 'delete') deleteUsers([id]);
});

// A file may be dropped anywhere on the page.
const mayImport = () => document.documentElement.dataset.access === 'full';
document.addEventListener('dragover', (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  find('#drop').hidden = !mayImport();
});
document.addEventListener('dragleave', ({ relatedTarget }) => {
  if (!relatedTarget) find('#drop').hidden = true;
});
document.addEventListener('drop', (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  find('#drop').hidden = true;
  if (mayImport()) importUsers(event.dataTransfer.files[0]);
});

list.showPlace();
list.load();
