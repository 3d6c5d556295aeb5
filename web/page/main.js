// Where the page begins: it shows the place that the address names, and connects what people do with what happens.

import { addUser, changeUser, closeForm, showHistoryOfUser } from './change.js';
import { deleteUsers, showDeleted } from './delete.js';
import { exportUsers } from './export.js';
import { importCells, importUsers } from './import.js';
import * as list from './list.js';
import { filtersWithForm, filtersWithout, opened, searchInstead } from './place.js';
import { isAtWork } from './many.js';
import * as selection from './selection.js';
import { setField } from './set.js';
import { keepFocus, keptFor, mayWrite, whenTyped } from './show.js';

const find = (selector) => document.querySelector(selector);
const on = (selector, event, action) => find(selector).addEventListener(event, action);

const opens = {
  add: addUser,
  import: importUsers,
  deleted: showDeleted,
  history: showHistoryOfUser,
  export: exportUsers,
  'export-chosen': () => exportUsers('chosen'),
  'set-chosen': setField,
  'delete-chosen': () => deleteUsers(selection.chosenUsers()),
};

// No form leaves the page.
document.addEventListener('submit', (event) => { if (event.target.method !== 'dialog') event.preventDefault(); });
document.addEventListener('click', ({ target }) => {
  if (target.closest('#menu button')) find('#menu').hidePopover(); // which gives the focus back, also after a dialog
  target.closest('[data-close]')?.closest('dialog').close();
  opens[target.closest('[data-open]')?.dataset.open]?.();
});

// Search as one types: a new entry of the history for each visit of the field, not for each letter.
let isNew = true;
on('#q', 'focus', () => { isNew = true; });
whenTyped(find('#q'), () => {
  const q = find('#q').value.trim();
  if (q === list.currentPlace().q) return;
  list.goTo({ q }, { isNew });
  isNew = false;
});
on('#clear', 'click', () => list.goTo({ q: '', filters: [] }));
on('#instead', 'click', () => list.goTo(searchInstead(list.currentPlace())));
for (const selector of ['#clear', '#instead']) on(selector, 'click', () => find('#q').focus());

on('#filter', 'submit', () => {
  const filters = filtersWithForm();
  find('#filter').hidePopover();
  list.goTo({ filters });
});
on('#filters', 'click', ({ target }) => {
  const chip = target.closest('button');
  if (!chip) return;
  find('#add-filter').focus();
  list.goTo({ filters: filtersWithout(chip.value) });
});

on('#list thead', 'click', ({ target: { dataset } }) => { if (dataset.sort) list.sortBy(dataset.sort); });
on('#size', 'change', list.resize);
on('#first', 'click', () => list.goTo({ after: null }));
on('#previous', 'click', list.goToPrevious);
on('#next', 'click', list.goToNext);
on('#again', 'click', () => location.reload());
on('#news', 'click', () => list.load());
for (const event of ['online', 'offline']) window.addEventListener(event, () => list.load());

on('#all', 'change', ({ target }) => selection.chooseAll(target.checked));
on('#unchoose', 'click', selection.chooseNone);
on('#choose-found', 'click', selection.chooseAllFound);
on('#copy-emails', 'click', selection.copyEmails);
on('#list tbody', 'mousedown', (event) => { if (event.shiftKey) event.preventDefault(); }); // no text is marked
on('#list tbody', 'click', ({ target, shiftKey }) => {
  const { id } = target.closest('tr').dataset;
  const isName = target.closest('.name') && mayWrite() && getSelection().isCollapsed; // a name can be marked and copied
  const action = isName ? 'change' : target.closest('[data-action]')?.dataset.action;
  if (action === 'change') changeUser(id);
  if (action === 'delete') deleteUsers([list.userOnScreen(id)]);
  if (target.matches('.tick input')) selection.chooseRow(id, target.checked, shiftKey);
});

on('#print', 'click', list.print);
document.addEventListener('keydown', (event) => {
  const { key, target } = event;
  if (find('dialog[open]')) return;
  if (key === '/' && !target.closest('input, select, textarea')) {
    event.preventDefault();
    find('#q').focus();
  }
  if (key === 'p' && (event.ctrlKey || event.metaKey) && !list.isWhole()) {
    event.preventDefault();
    list.print();
  }
});

// Cells of a spreadsheet may be pasted wherever nothing is typed.
document.addEventListener('paste', ({ target, clipboardData }) => {
  const text = clipboardData.getData('text/plain');
  const isTyped = target.closest('select, input:not([type=checkbox], [type=radio], [type=file])') ||
    find('dialog[open]:not(#import)');
  if (text.includes('\t') && !isTyped && mayWrite()) importCells(text);
});

window.addEventListener('popstate', () => {
  list.follow();
  for (const name of ['history', 'deleted']) if (!opened().has(name)) find(`#${name}`)?.close();
  if (closeForm()) openNamed();
});

async function openNamed() {
  const address = opened();
  const isOpen = find('#user').open;
  if (address.has('add') && !isOpen) addUser();
  if (address.has('user') && !isOpen) await changeUser(address.get('user'));
  if (keptFor === 0 || !mayWrite()) return;
  if (address.has('history') && find('#user').open && !find('#history').open) showHistoryOfUser();
  if (address.has('deleted') && !find('#deleted').open) showDeleted();
}

document.addEventListener('close', () => keepFocus(), { capture: true }); // what opened the dialog may be gone

// Reload and closing the tab ask before typed text is lost, or work is left half done.
window.addEventListener('beforeunload', (event) => {
  const inputs = [...document.querySelectorAll('#user[open] :is(input, select), #set[open] #set-value')];
  if (isAtWork() || inputs.some(({ value, defaultValue = '' }) => value !== defaultValue)) event.preventDefault();
});

list.showPlace();
list.load();
openNamed();
