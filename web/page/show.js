// How values look: fields, times, numbers, and short sentences, to be seen and to be heard. What a user is called only ever
// becomes text, never markup.

const [days, dates, times] = [{}, { timeZone: 'UTC' }, { timeStyle: 'short' }].map( // dates are days that no zone touches
  (options) => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', ...options }));
const number = new Intl.NumberFormat();

/** Returns a copy of the one element of a template, with texts in its parts. */
export function copyOf(template, texts = {}) {
  const copy = document.querySelector(template).content.cloneNode(true).firstElementChild;
  for (const [part, text] of Object.entries(texts)) showText(copy.querySelector(part), text);
  return copy;
}

/** Where the links lead that values of a kind become, if they are what they should be. */
const addresses = {
  email: (text) => text.includes('@') && `mailto:${encodeURIComponent(text).replaceAll('%40', '@')}`,
  tel: (text) => /^\+?[\d\s()/.-]{3,40}$/.test(text) && `tel:${text.replace(/(?<=\+.*)\(0\)|[^+\d]/g, '')}`,
  url: (text) => /^https?:/i.test(text) && URL.canParse(text) && text,
};

export function showField({ dataset: { kind }, firstElementChild: element }, value) {
  if (kind === 'time') return showTime(element, value ?? '', days);
  showText(element, sayValue(kind, value));
  const href = addresses[kind]?.(element.textContent);
  if (!href) return;
  const target = kind === 'url' ? '_blank' : ''; // an address opens beside the page
  const link = Object.assign(document.createElement('a'), { href, target, rel: 'noopener noreferrer' });
  link.append(...element.childNodes);
  element.append(link);
}

/** Returns a value of a kind as people read it. What does not fit its type stays as it is, and no value is an empty text. */
export function sayValue(kind, value) {
  const text = String(value ?? '');
  if (kind === 'boolean') return { true: 'Yes', false: 'No' }[text] ?? text;
  const date = new Date(text);
  if (kind === 'time' && !Number.isNaN(date.getTime())) return days.format(date);
  return kind === 'date' && date.toJSON()?.slice(0, 10) === text ? dates.format(date) : text;
}

/** Shows a time of the service, which is UTC, in the reader's zone, or only its day. What is no time stays as it is. */
export function showTime(element, text, format = times) {
  const date = new Date(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text) ? `${text.replace(' ', 'T')}Z` : '');
  const isTime = !Number.isNaN(date.getTime());
  element.textContent = isTime ? format.format(date) : text;
  if (!isTime) return;
  element.title = `${times.format(date)} (${text} UTC)`;
  element.dateTime = date.toISOString();
  element.lang = times.resolvedOptions().locale; // which need not be the page's
}

/** Shows a text, cut to so many characters. A tooltip has what is cut, here or by the style. */
function showText(element, text, most = Infinity) {
  element.textContent = short(text ?? '', most);
  element.title = (text ?? '').slice(0, 1000);
}

/** Shows texts as the rows of a table's body, each cut to so many characters. */
export function showTable(body, rows, most) {
  body.replaceChildren(...rows.map((texts) => {
    const row = document.createElement('tr');
    for (const text of texts) showText(row.insertCell(), text, most);
    return row;
  }));
}

/** Returns how a value of a field is shown beside another: none can be seen. */
export const shownValue = (field, value) => sayValue(inputs.get(field).dataset.kind, value) || '–';

/** Returns who made a change, as an entry has it: person:ada or key:hr-sync. */
export const sayWho = (by) => by.replace(/^person:/, '').replace(/^key:/, 'key ');

/** How long what was done is kept and can be taken back, in seconds; 0 where it is not. */
export const keptFor = Number(document.documentElement.dataset.keep);

/** Returns a count with its noun: "1 user", "1,204 users". */
export const count = (n, noun = 'user') => `${number.format(n)} ${noun}${n === 1 ? '' : 's'}`;

export const showNumber = (n) => number.format(n);
export const mayWrite = () => document.documentElement.dataset.access === 'full';

/** The inputs of a user's fields, by field, in the form that the service wrote into the HTML. */
export const inputs = new Map([...document.querySelectorAll('#user :is(input, select)')].map(
  (input) => [input.dataset.optional ?? input.id, input],
));
const unused = new Map([...inputs].map(([field, input]) => [field, input.cloneNode(true)]));

export const labelOf = (field) => inputs.get(field).labels[0].textContent;

/** Puts an empty input for a field in the place of another one's, and returns it. What is no field has one of a type. */
export function inputFor(field, old, type = 'text') {
  if (old.name === field) return old; // with what was typed
  const { id, required } = old;
  const input = unused.get(field)?.cloneNode(true) ?? Object.assign(document.createElement('input'), { type });
  Object.assign(input, { id, required, name: field, placeholder: '', autocomplete: 'off', spellcheck: false });
  input.removeAttribute('aria-describedby');
  old.replaceWith(input);
  return input;
}

/** Returns what stands in an input: a number as the service writes it. */
export const textOf = ({ type, value, valueAsNumber }) => (type === 'number' && value !== '' ? String(valueAsNumber) : value);

/** Opens a dialog if it is not open, and returns with which button it is closed. */
export function answerOf(dialog) {
  dialog.returnValue = '';
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue), { once: true });
  });
}

/** Does something once nobody has typed into an input for a moment. */
export function whenTyped(input, action) {
  let typing;
  input.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(action, 200);
  });
}

let hiding;
export function say(sentence, time = 8000) {
  const place = document.querySelector('#said');
  place.textContent = sentence;
  clearTimeout(hiding);
  hiding = setTimeout(() => { place.textContent = ''; }, time);
}

const message = document.querySelector('#done');
let takeBack = null; // what Undo does; null while there is nothing, or while it is done

/** Says what was done, until something else is or the message is closed. `undo` takes it back, and returns what to say. */
export function done(sentence, undo = null) {
  takeBack = keptFor > 0 ? undo : null;
  if (message.contains(document.activeElement)) document.querySelector('#list').focus({ preventScroll: true });
  message.querySelector('p').textContent = takeBack ? sentence : '';
  message.querySelector('.actions').hidden = !takeBack;
  say(takeBack ? '' : sentence);
}

message.querySelector('#dismiss').addEventListener('click', () => done(''));
message.querySelector('#undo').addEventListener('click', async () => {
  const undo = takeBack;
  if (!undo) return;
  takeBack = null;
  try {
    const words = await undo();
    // Without words, the person has decided to leave it. What was done meanwhile keeps its Undo.
    if (words) (takeBack ? say : done)(words);
  } catch (error) {
    say(error.message);
  }
  takeBack ??= message.querySelector('p').textContent ? undo : null;
});

/** Gives the focus to the list, or to what closes a dialog, where what had it is gone. */
export function keepFocus(dialog = null) {
  if (!document.activeElement.matches('body, dialog:not([open]) *')) return;
  (dialog?.querySelector('[data-close]') ?? document.querySelector('#list')).focus({ preventScroll: true });
}

export const short = (value, most = 60) => (value.length > most ? `${value.slice(0, most)}…` : value);
