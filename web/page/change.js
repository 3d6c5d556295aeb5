// Adding, changing and restoring a user. Only the fields that were edited are sent; what somebody else has changed
// meanwhile stays, and about what both have changed the person decides.

import { Refusal, call, readJSON, readUser } from './api.js';
import { writeFields } from './conflict.js';
import { load } from './list.js';
import { enter, leave } from './opened.js';
import { inputs, say, short, textOf } from './show.js';
import { done, undoChanges } from './undo.js';

const dialog = document.querySelector('#user');
const form = dialog.querySelector('form');
const button = form.querySelector('.primary');
const required = [...inputs.values()].filter(({ dataset }) => !('optional' in dataset));

let read = null; // the user and the tag that are changed; null while one is added
let isGone = false; // the user was deleted, and is added again
let place = ''; // what the address says while the form is open
let isBusy = false;
let doubted = ''; // the name and the email of which the person was warned

export function addUser() {
  read = null;
  open('Add user', '#add');
}

/** Reads a user again before it is changed: the list may be old. */
export async function changeUser(id) {
  try {
    read = await readUser(id);
    open(document.documentElement.dataset.access === 'read' ? 'User' : 'Change user', `#user=${id}`);
  } catch (error) {
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

/** Shows a user as somebody, or this person, has changed it meanwhile, with what was typed over it. */
export async function showAgain() {
  const typed = edited();
  read = await readUser(read.user.id);
  fill();
  for (const [field, value] of Object.entries(typed)) give(inputs.get(field), shown(value));
}

export const shownUser = () => read.user;

function open(title, address) {
  dialog.querySelector('h2').textContent = title;
  dialog.querySelector('#user-id').textContent = read ? `ID ${read.user.id}` : '';
  fill();
  for (const input of inputs.values()) input[input.options ? 'disabled' : 'readOnly'] = title === 'User';
  [doubted, isGone, button.textContent] = ['', false, 'Save'];
  for (const link of form.querySelectorAll('[data-open=history]')) link.hidden = !address.startsWith('#user');
  showErrors(new Map());
  if (!dialog.open) dialog.showModal();
  place = address;
  if (place) enter(place);
}

function fill() {
  for (const [field, input] of inputs) {
    if (input.options) input.querySelector('.other')?.remove();
    else input.type = input.dataset.kind;
    input.defaultValue = shown(stored(field)); // which a select has not by itself
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

/** Returns the value of a field that is changed. One that is added has none, whatever the field is called. */
const stored = (field) => (read ? read.user[field] : undefined);

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  if (isBusy || warn()) return;
  isBusy = true;
  showErrors(new Map());
  try {
    await (isGone ? saveAgain() : read ? saveChange() : saveNew());
  } catch (error) {
    showErrors(errorsOf(error));
  } finally {
    isBusy = false;
  }
});

/** Returns what an input shows of a value: null looks like an empty text, and an input has one line. */
const shown = (value) => String(value ?? '').replace(/[\r\n]/g, '');

const isEdited = (field) => isBad(inputs.get(field)) || inputs.get(field).value !== inputs.get(field).defaultValue;

/** Reports whether what stands in an input is no number or day, so that it has no value. */
const isBad = ({ validity }) => validity.badInput;

/** Returns the fields that the person has edited. An optional one that was cleared has no value. */
const edited = () => Object.fromEntries([...inputs].filter(([field]) => isEdited(field)).map(
  ([field, input]) => [field, input.value === '' && 'optional' in input.dataset ? null : textOf(input)],
));

/** Returns the user that the form describes. An input that was not edited leaves what is stored as it is. */
const written = () => ({ ...Object.fromEntries([...inputs.keys()].map((field) => [field, stored(field)])), ...edited() });

/** Says what cannot be saved, or warns, once, of what the service stores as it is and nobody means. Reports whether it did. */
function warn() {
  const bad = [...inputs.values()].filter(isBad);
  if (bad.length > 0) {
    showErrors(new Map(bad.map((input) => [input, input.validationMessage])));
    return true;
  }
  const [name, email] = [inputs.get('name'), inputs.get('email')];
  const doubts = new Map();
  if (isEdited('name') && /^\s+$/.test(name.value)) doubts.set(name, 'This name is blank; save again to keep it');
  const mistakes = [[/^\s|\s$/, 'spaces around it'], [/^[^@]+$/, 'no @']].filter(([mistake]) => mistake.test(email.value));
  if (isEdited('email') && mistakes.length > 0) {
    doubts.set(email, `This email has ${mistakes.map(([, words]) => words).join(' and ')}; save again to keep it`);
  }
  const values = JSON.stringify([name.value, email.value]);
  if (doubts.size === 0 || doubted === values) return false;
  doubted = values;
  showErrors(doubts);
  return true;
}

const mayDiscard = () => Object.keys(edited()).length === 0 || confirm('Discard what you typed?');

/** Asks before what was typed is lost, unless it is just being saved. Escape is easily hit by mistake; Cancel is not. */
function refuse(event) {
  if (Object.keys(edited()).length === 0) return;
  event.preventDefault();
  if (!isBusy && mayDiscard()) dialog.close();
}

// A browser lets a page refuse a cancel only now and then, so Escape is caught before. A phone that goes back has no key.
dialog.addEventListener('keydown', (event) => { if (event.key === 'Escape' && !event.isComposing) refuse(event); });
dialog.addEventListener('cancel', refuse);
dialog.addEventListener('close', () => { if (place) leave(place); });

/** Closes the form where the address, after Back, no longer has it. Reports whether it may. */
export function closeForm(address) {
  if (!dialog.open || place === '' || address.startsWith(place)) return true;
  if (isBusy || !mayDiscard()) {
    enter(place);
    return false;
  }
  dialog.close();
  return true;
}

async function saveNew() {
  const answer = await call('POST', 'api/users', { body: JSON.stringify(written()) });
  const { name } = await readJSON(answer);
  finish(`${short(name)} was added`);
}

async function saveChange() {
  try {
    const change = await writeFields(read, edited());
    if (!change) return;
    const name = short(change.after.name ?? change.name);
    if (Object.keys(change.after).length > 0) {
      finish(`${name} was saved`, () => undoChanges([change]));
    } else {
      dialog.close();
      say(`${name} stays as it is`);
      load();
    }
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
    finish(`${short(written().name)} was restored`);
  } catch (error) {
    if (error.answer?.code === 'user_exists') { // somebody else has restored it
      isGone = false;
      await saveChange();
    } else if (error.status === 404) {
      await saveNew();
    } else {
      throw error;
    }
  }
}

function finish(sentence, undo) {
  dialog.close();
  done(sentence, undo);
  load();
}

/** Returns the error of each input, or of the form as a whole. */
function errorsOf(error) {
  const status = error instanceof Refusal ? error.status : 0;
  const empty = required.filter(({ value }) => status === 400 && value === '');
  if (empty.length > 0) return new Map(empty.map((input) => [input, `${input.labels[0].textContent} is required`]));
  const named = inputs.get(error.message.split(' ', 1)[0].toLowerCase()); // as in "Email is already used by another user"
  return new Map([[[400, 409].includes(status) && named || form, error.message]]);
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
