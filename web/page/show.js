// How values look: times, numbers, and short sentences, to be seen and to be heard. What a user
// is called only ever becomes text, never markup.

const time = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'long' });
const since = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const units = [['year', 31_556_952], ['month', 2_629_746], ['day', 86_400], ['hour', 3_600], ['minute', 60], ['second', 1]]; // in seconds
const number = new Intl.NumberFormat();
const graphemes = new Intl.Segmenter();

/** Shows a time of the service, which is UTC, in the reader's zone. What is no time stays as it is. */
export function showTime(element, text) {
  const parts = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/.exec(text);
  const date = parts && new Date(`${parts[1]}T${parts[2]}Z`);
  const isTime = parts && !Number.isNaN(date.getTime());
  element.textContent = isTime ? time.format(date) : text;
  element.title = isTime ? `${text} UTC` : '';
  element.dateTime = isTime ? date.toISOString() : '';
}

/** Shows how long ago a time was; a tooltip has the time itself. What is no time stays as it is. */
export function showSince(element, text) {
  showTime(element, text);
  if (!element.dateTime) return;
  element.title = `${element.textContent} (${element.title})`;
  const seconds = Math.min((new Date(element.dateTime) - Date.now()) / 1000, 0); // the service's clock may be ahead
  const [unit, length] = units.find(([, least]) => -seconds >= least) ?? units.at(-1);
  element.textContent = since.format(Math.trunc(seconds / length), unit);
}

/** Shows a text, cut to so many characters. A tooltip has what is cut, here or by the style. */
export function showText(element, text, most = Infinity) {
  element.textContent = short(text ?? '', most);
  element.title = (text ?? '').slice(0, 1000);
}

/** Shows an email, which may break before its @ and nowhere else. */
export function showEmail(element, email) {
  const at = Math.max(email.lastIndexOf('@'), 0);
  element.title = email.slice(0, 1000);
  element.replaceChildren(...[email.slice(0, at), email.slice(at)].map((text) => {
    const part = document.createElement('span');
    part.textContent = text;
    return part;
  }));
}

/** Returns how a value is shown beside another: none can be seen. */
export const shownValue = (value) => ((value ?? '') === '' ? '–' : value);

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
export const inputs = new Map([...document.querySelectorAll('#user input')].map(
  (input) => [input.dataset.optional ?? input.id, input],
));

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
