// Where the page begins: it shows the place that the address names, and connects what people do with what happens.

import { isElsewhere } from './address.js';
import { addUser, changeUser, closeForm } from './change.js';
import './columns.js';
import { showDeleted } from './deleted.js';
import { deleteUsers } from './delete.js';
import { exportUsers } from './export.js';
import { filtersWithForm, filtersWithout } from './filters.js';
import { showHistory } from './history.js';
import { importCells, importUsers, isFile } from './import.js';
import * as list from './list.js';
import { opened } from './opened.js';
import { printList } from './print.js';
import * as selection from './selection.js';
import { setField } from './set.js';
import { keptFor } from './show.js';

const typingPause = 200; // ms without a key before a search is sent

const find = (selector) => document.querySelector(selector);
const on = (selector, event, action) => find(selector).addEventListener(event, action);
const mayWrite = () => document.documentElement.dataset.access === 'full';

const opens = {
  add: addUser,
  import: () => importUsers(),
  deleted: () => showDeleted(),
  history: showHistory,
  export: () => exportUsers(),
  'export-chosen': () => exportUsers('chosen'),
  'set-chosen': setField,
  'delete-chosen': () => deleteUsers(selection.chosenUsers()),
};

document.addEventListener('click', ({ target }) => {
  if (target.closest('#menu button')) find('#menu').hidePopover(); // which gives the focus back, also after a dialog
  target.closest('[data-close]')?.closest('dialog').close();
  opens[target.closest('[data-open]')?.dataset.open]?.();
});

// Search as one types: a new entry of the history for each visit of the field, not for each letter.
let typing;
let isNew = true;
function search() {
  clearTimeout(typing);
  const q = find('#q').value.trim();
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
  list.goTo({ q: '', filters: [] });
});
on('#instead', 'click', list.searchForFilter);

on('#filter', 'submit', (event) => {
  event.preventDefault();
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
on('#size', 'change', ({ target }) => list.resize(target.value));
on('#first', 'click', list.goToFirst);
on('#previous', 'click', list.goToPrevious);
on('#next', 'click', list.goToNext);
on('#last', 'click', list.goToLast);
on('#again', 'click', () => list.tryAgain());
on('#news', 'click', () => list.load());
window.addEventListener('popstate', follow);
window.addEventListener('online', () => list.load());
window.addEventListener('offline', () => list.load());

on('#all', 'change', ({ target }) => selection.chooseAll(target.checked));
on('#unchoose', 'click', selection.chooseNone);
on('#choose-found', 'click', selection.chooseAllFound);
on('#copy-emails', 'click', selection.copyEmails);
on('#list tbody', 'mousedown', (event) => { if (event.shiftKey) event.preventDefault(); }); // no text is marked
on('#list tbody', 'click', ({ target, shiftKey }) => {
  const tr = target.closest('tr');
  if (target.matches('.tick input')) selection.chooseRow(tr.dataset.id, target.checked, shiftKey);
  const action = target.closest('[data-action]')?.dataset.action;
  const { id } = tr.dataset;
  if (action === 'change') changeUser(id);
  if (action === 'delete') deleteUsers([list.userOnScreen(id)]);
  if (!target.closest('.name') || !mayWrite() || !getSelection().isCollapsed) return; // a name can be marked and copied
  const button = tr.querySelector('[data-action=change]');
  button.focus({ preventScroll: true }); // which has the focus again once the dialog is closed
  button.click();
});

on('#print', 'click', printList);
document.addEventListener('keydown', (event) => {
  const { key, target } = event;
  if (document.querySelector('dialog[open]')) return;
  if (key === '/' && !target.closest('input, select, textarea')) {
    event.preventDefault();
    find('#q').focus();
  }
  if (key === 'p' && (event.ctrlKey || event.metaKey) && !list.isWhole()) {
    event.preventDefault();
    printList();
  }
});

// Cells of a spreadsheet may be pasted wherever nothing is typed.
document.addEventListener('paste', ({ target, clipboardData }) => {
  const text = clipboardData.getData('text/plain');
  const isElsewhere = target.closest('select, input:not([type=checkbox], [type=radio], [type=file])') ||
    document.querySelector('dialog[open]:not(#import)');
  if (text.includes('\t') && !isElsewhere && mayWrite()) importCells(text);
});

// A file may be dropped anywhere on the page.
document.addEventListener('dragover', (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  find('#drop').hidden = !mayWrite();
});
document.addEventListener('dragleave', ({ relatedTarget }) => {
  if (!relatedTarget) find('#drop').hidden = true;
});
document.addEventListener('drop', (event) => {
  if (!isFile(event)) return;
  event.preventDefault();
  find('#drop').hidden = true;
  if (mayWrite()) importUsers(event.dataTransfer.files[0]);
});

/** Shows what the address names, after Back or forward. */
function follow() {
  if (isElsewhere()) list.follow();
  for (const name of ['history', 'deleted']) {
    if (!opened().has(name)) find(`#${name}`)?.close();
  }
  if (closeForm(location.hash)) openNamed();
}

/** Opens what the address names over the list. */
async function openNamed() {
  const address = opened();
  const isOpen = find('#user').open;
  if (address.has('add') && !isOpen) addUser();
  if (address.has('user') && !isOpen) await changeUser(address.get('user'));
  if (keptFor === 0 || !mayWrite()) return;
  if (address.has('history') && find('#user').open && !find('#history').open) showHistory();
  if (address.has('deleted') && !find('#deleted').open) showDeleted(address.get('deleted'));
}

// Reload and closing the tab ask before typed text is lost.
window.addEventListener('beforeunload', (event) => {
  const inputs = [...document.querySelectorAll('#user[open] :is(input, select), #set[open] #set-value')];
  if (inputs.some(({ value, defaultValue = '' }) => value !== defaultValue)) event.preventDefault();
});

list.showPlace();
list.load();
openNamed();
