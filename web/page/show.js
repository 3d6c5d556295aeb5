// How values look: fields, times, numbers, and short sentences, to be seen and to be heard. What a user is called only ever
// becomes text, never markup.

const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' }); // of days that no zone touches
const time = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'long' });
const number = new Intl.NumberFormat();
const graphemes = new Intl.Segmenter();

const shows = { tel: showPhone, url: showAddress, time: showDay };

/** Shows a field of a user in its cell, as its kind is shown. */
export function showField({ dataset: { kind }, firstElementChild: element }, value) {
  (shows[kind] ?? showText)(element, sayValue(kind, value));
}

/** Returns a value of a kind as people read it. What does not fit its type stays as it is, and no value is an empty text. */
export function sayValue(kind, value) {
  const text = String(value ?? '');
  if (kind === 'boolean' && text === 'true') return 'Yes';
  if (kind === 'boolean' && text === 'false') return 'No';
  if (kind !== 'date') return text;
  const date = new Date(text); // midnight in UTC
  return date.toJSON()?.slice(0, 10) === text ? dates.format(date) : text;
}

/** Returns the day of a time in the reader's zone. What is no time stays as it is. */
export function sayDay(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : days.format(date);
}

/** Shows a time of the service, which is UTC, in the reader's zone. What is no time stays as it is. */
export function showTime(element, text) {
  const parts = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/.exec(text);
  const date = parts && new Date(`${parts[1]}T${parts[2]}Z`);
  const isTime = parts && !Number.isNaN(date.getTime());
  element.textContent = isTime ? time.format(date) : text;
  element.title = isTime ? `${text} UTC` : '';
  element.dateTime = isTime ? date.toISOString() : '';
  element.lang = time.resolvedOptions().locale; // which need not be the page's
}

/** Shows the day of a time; a tooltip has the time itself. */
function showDay(element, text) {
  showTime(element, text);
  if (!element.dateTime) return;
  element.title = `${element.textContent} (${element.title})`;
  element.textContent = sayDay(element.dateTime);
}

/** Shows a text, cut to so many characters. A tooltip has what is cut, here or by the style. */
export function showText(element, text, most = Infinity) {
  element.textContent = short(text ?? '', most);
  element.title = (text ?? '').slice(0, 1000);
}

/** Shows an address, which opens beside the page. */
function showAddress(element, text) {
  showText(element, text);
  if (/^https?:/i.test(text) && URL.canParse(text)) showLink(element, text, '_blank');
}

/** Shows a number that can be called. */
function showPhone(element, text) {
  showText(element, text);
  if (/^\+?[\d\s()/.-]{3,40}$/.test(text)) showLink(element, `tel:${text.replace(/[^+\d]/g, '')}`);
}

/** Shows an email that can be written to. */
export function showEmail(element, email) {
  showText(element, email);
  if (email.includes('@')) showLink(element, `mailto:${encodeURIComponent(email).replaceAll('%40', '@')}`);
}

/** Makes a link of the text of an element. */
function showLink(element, href, target = '') {
  const link = Object.assign(document.createElement('a'), { href, target, rel: 'noopener noreferrer' });
  link.append(...element.childNodes);
  element.append(link);
}

/** Returns how a value of a field is shown beside another: none can be seen. */
export const shownValue = (field, value) => sayValue(inputs.get(field).dataset.kind, value) || '–';

/** Returns who made a change, as an entry has it: person:ada or key:hr-sync. */
export const sayWho = (by) => by.replace(/^person:/, '').replace(/^key:/, 'key ');

/** How long what was done is kept and can be taken back, in seconds; 0 where it is not. */
export const keptFor = Number(document.documentElement.dataset.keep);

/** Returns until when somebody who is deleted now can be restored. */
export const restorableUntil = () => (keptFor < 172_800 ? time : day).format(Date.now() + keptFor * 1000);

/** Returns a count with its noun: "1 user", "1,204 users". */
export const count = (n, noun = 'user') => `${number.format(n)} ${noun}${n === 1 ? '' : 's'}`;

export const showNumber = (n) => number.format(n);

/** Returns the first letter of a name, whatever a letter is in its script. */
export function initial(name) {
  const [first] = graphemes.segment(name.trim().slice(0, 40));
  return first ? first.segment.toLocaleUpperCase() : '';
}

/** The inputs of a user's fields, by field, in the form that the service wrote into the HTML. */
export const inputs = new Map([...document.querySelectorAll('#user :is(input, select)')].map(
  (input) => [input.dataset.optional ?? input.id, input],
));
const unused = new Map([...inputs].map(([field, input]) => [field, input.cloneNode(true)]));

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

let hiding;

/** Says in a corner of the page what was done. */
export function say(sentence) {
  const place = document.querySelector('#said');
  place.textContent = sentence;
  clearTimeout(hiding);
  hiding = setTimeout(() => { place.textContent = ''; }, 8000);
}

/** Cuts a value to what a sentence can hold. */
export const short = (value, most = 60) => (value.length > most ? `${value.slice(0, most)}…` : value);
