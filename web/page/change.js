// Adding, changing and restoring a user. Only the fields that were edited are sent; what somebody else has changed
// meanwhile stays, and about what both have changed the person decides.

import { leave, openAt, stayAt } from './place.js';
import { call, questions, readUser } from './api.js';
import { load } from './list.js';
import { done, inputs, labelOf, mayWrite, say, short, textOf } from './show.js';
import { showHistory, undoChanges, writeFields } from './undo.js';

const dialog = document.querySelector('#user');
const form = dialog.querySelector('form');
const button = form.querySelector('.primary');
const begin = questions();

let read = null; // the user and the tag that are changed; null while one is added
let isGone = false; // the user was deleted, and is added again
let place = ''; // what the address says while the form is open

export function addUser() {
  read = null;
  open('Add user', '#add');
}

/** Reads a user again before it is changed: the list may be old. What the person has opened meanwhile stays. */
export async function changeUser(id) {
  const signal = begin();
  try {
    const found = await readUser(id, { signal });
    if (document.querySelector('dialog[open]')) return;
    read = found;
    open(mayWrite() ? 'Change user' : 'User', `#user=${id}`);
  } catch (error) {
    if (signal.aborted) return;
    leave(`#user=${id}`);
    say(error.message);
    load();
  }
}

/** Shows a user who was deleted and cannot be restored as it was, to be restored with another value. */
export function restoreUser(user, error) {
  read = { user };
  open('Restore user', '');
  isGone = true;
  button.textContent = 'Restore';
  showErrors(errorsOf(error));
}

/** Shows the history of the user. What is taken back there is shown here, with what was typed over it. */
export const showHistoryOfUser = () => showHistory(read.user, async () => {
  const start = read;
  const now = await readUser(start.user.id);
  if (read !== start) return; // the form is about another by now
  const typed = edited();
  read = now;
  fill();
  for (const [field, value] of Object.entries(typed)) give(inputs.get(field), shown(value));
});

function open(title, address) {
  begin();
  dialog.querySelector('h2').textContent = title;
  fill();
  for (const input of inputs.values()) input[input.options ? 'disabled' : 'readOnly'] = title === 'User';
  [place, isGone, button.textContent] = [address, false, 'Save'];
  for (const link of form.querySelectorAll('[data-open=history]')) link.hidden = !address.startsWith('#user');
  showErrors(new Map());
  if (place) openAt(dialog, place);
  else dialog.showModal();
}

function fill() {
  for (const [field, input] of inputs) {
    if (input.options) input.querySelector('.other')?.remove();
    else input.type = input.dataset.kind;
    input.defaultValue = shown(read?.user[field]); // which a select has not by itself
    give(input, input.defaultValue);
  }
}

/** Gives an input a value. What does not fit its type is one more choice, or makes it an input for texts. */
function give(input, text) {
  input.value = text;
  if (input.value === text) return;
  if (input.options) input.add(Object.assign(new Option(text, text), { className: 'other' }));
  else input.type = 'text';
  input.value = text;
}

/** Returns what an input shows of a value: null looks like an empty text, and an input has one line. */
const shown = (value) => String(value ?? '').replace(/[\r\n]/g, '');

/** What stands in an input but is no number or day has no value, and was edited all the same. */
const isEdited = ({ validity, value, defaultValue }) => validity.badInput || value !== defaultValue;

/** Returns the fields that the person has edited. An optional one that was cleared has no value. */
const edited = () => Object.fromEntries([...inputs].filter(([, input]) => isEdited(input)).map(
  ([field, input]) => [field, input.value === '' && !input.required ? null : textOf(input)],
));

/** Returns the user that the form describes. An input that was not edited leaves what is stored as it is. */
const written = () => ({ ...read?.user, ...edited() });

form.addEventListener('submit', async () => {
  if (form.ariaBusy) return;
  form.ariaBusy = 'true';
  const bad = [...inputs].filter(([, input]) => !input.validity.valid && (!read || isEdited(input)));
  showErrors(new Map(bad.map(([field, input]) => [
    input, input.validity.valueMissing ? `${labelOf(field)} is required` : input.validationMessage])));
  const save = isGone ? saveAgain : read ? saveChange : saveNew;
  if (bad.length === 0) await save().catch((error) => showErrors(errorsOf(error)));
  form.ariaBusy = null;
});

/** Closes the form, but asks before what was typed is lost, unless it is just being saved. Reports whether it is closed. */
function close() {
  const may = !form.ariaBusy && (Object.keys(edited()).length === 0 || confirm('Discard what you typed?'));
  if (may) dialog.close();
  return may;
}

// A browser lets a page refuse a cancel only now and then, so Escape is caught before. A phone that goes back has no key.
for (const type of ['keydown', 'cancel']) {
  dialog.addEventListener(type, (event) => {
    if (type === 'keydown' && (event.key !== 'Escape' || event.isComposing)) return;
    event.preventDefault();
    close();
  });
}

/** Closes the form where the address, after Back, no longer has it, or puts it there again. Reports whether they agree. */
export function closeForm() {
  const agrees = !dialog.open || location.hash.startsWith(place) || close();
  if (!agrees) stayAt(place);
  return agrees;
}

async function saveNew() {
  await call('POST', 'api/users', { body: JSON.stringify(written()) });
  finish(() => done(`${short(written().name)} was added`));
}

async function saveChange() {
  try {
    const change = await writeFields(read, edited());
    if (!change) return;
    const name = short(change.after.name ?? change.name);
    if (Object.keys(change.after).length > 0) finish(() => done(`${name} was saved`, () => undoChanges([change])));
    else finish(() => say(`${name} stays as it is`));
  } catch (error) {
    if (error.status !== 404) throw error;
    isGone = true;
    button.textContent = 'Add again';
    throw new Error('Somebody has deleted this user meanwhile. Add it again with what is typed here?', { cause: error });
  }
}

/** Restores a user who was deleted, with what was typed. Where nothing is kept of it, it is another with the same values. */
async function saveAgain() {
  try {
    await call('POST', `api/users/${read.user.id}/restore`, { body: JSON.stringify(edited()) });
    finish(() => done(`${short(written().name)} was restored`));
  } catch (error) {
    if (error.status !== 404) throw error;
    await saveNew();
  }
}

function finish(tell) {
  dialog.close();
  tell();
  load();
}

/** Returns the error of the input that a refusal names, as in "Email is already used by another user", or of the form. */
function errorsOf(error) {
  const named = inputs.get(error.message.split(' ', 1)[0].toLowerCase());
  return new Map([[[400, 409].includes(error.status) && named || form, error.message]]);
}

/** Shows errors, and takes the person to the first of them. */
function showErrors(errors) {
  for (const input of inputs.values()) { // each before its error
    input.ariaInvalid = errors.has(input);
    input.nextElementSibling.textContent = errors.get(input) ?? '';
  }
  const ofForm = form.querySelector('.error');
  ofForm.textContent = errors.get(form) ?? '';
  if (errors.has(form)) ofForm.scrollIntoView({ block: 'nearest' });
  [...inputs.values()].find((input) => errors.has(input))?.focus();
}
