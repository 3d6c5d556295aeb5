// Exporting. Without a key the links are plain downloads; a key can only be sent by a request of the page's own, which
// holds the file in memory until it is whole.

import { filters, isSearch } from './address.js';
import { call, whole } from './api.js';
import { hasKey } from './key.js';
import { chosenUsers, countFound, currentPlace, sayFilter } from './list.js';
import { doToEach, sayLeft, showFailures } from './many.js';
import { count, showNumber } from './show.js';

const dialog = document.querySelector('#export');
const links = dialog.querySelectorAll('a');
const error = dialog.querySelector('.error');
const busy = dialog.querySelector('#export-busy');

const progress = dialog.querySelector('progress');

let reading = new AbortController();

/** Asks which users, and in which form. What was asked for is chosen already: those who are found, or those selected. */
export function exportUsers(what = 'found') {
  const place = currentPlace();
  const { total, matches } = countFound();
  const chosen = chosenUsers().length;
  const [ofChosen, found, all] = dialog.querySelectorAll('fieldset label');
  dialog.querySelector('fieldset').hidden = !isSearch(place) && chosen === 0;
  [ofChosen.hidden, found.hidden] = [chosen === 0, !isSearch(place)];
  dialog.querySelector(`[value=${what === 'found' && !isSearch(place) ? 'all' : what}]`).checked = true;
  ofChosen.querySelector('span').textContent = `The ${showNumber(chosen)} selected`;
  found.querySelector('bdi').textContent = [place.q, sayFilter()].filter((words) => words !== '').join(', ');
  found.title = matches === null ? '' : showNumber(matches);
  all.querySelector('span').textContent = total === null ? 'All' : `All ${showNumber(total)}`;
  say('');
  showLinks();
  dialog.showModal();
}

function say(words, failure = '', failures = []) {
  busy.textContent = words;
  error.textContent = failure;
  progress.hidden = true;
  showFailures(dialog.querySelector('.failed'), failures);
}

const isFor = (what) => dialog.querySelector(`[value=${what}]`).checked;

/** The links lead to what is searched for, or to all. */
function showLinks() {
  for (const link of links) link.href = fileOf(link, isFor('found') ? filters(currentPlace()) : {});
}

function fileOf({ dataset }, parameters) {
  const query = new URLSearchParams({ ...parameters, ...('spreadsheet' in dataset && { spreadsheet: true }) });
  return `api/users.${dataset.file}${query.size ? `?${query}` : ''}`;
}

dialog.querySelector('fieldset').addEventListener('change', showLinks);
dialog.querySelector('form').addEventListener('submit', (event) => event.preventDefault());
dialog.addEventListener('close', () => reading.abort());
for (const link of links) {
  link.addEventListener('click', (event) => {
    if (!hasKey() && !isFor('chosen')) return;
    event.preventDefault();
    reading.abort();
    reading = new AbortController();
    (isFor('chosen') ? downloadChosen : download)(link, reading.signal);
  });
}

async function download(link, signal) {
  say('Fetching the file…');
  try {
    const answer = await call('GET', link.getAttribute('href'), { signal });
    const named = /filename="([^"]+)"/.exec(answer.headers.get('Content-Disposition'));
    save(await whole(answer.blob(), signal), named?.[1] ?? `users.${link.dataset.file}`);
    say('The file is in your downloads');
  } catch (failure) {
    if (!signal.aborted) say('', failure.message);
  }
}

/** Makes one file of those of the selected users: the service alone knows how a value is written. */
async function downloadChosen(link, signal) {
  say('Fetching the users…');
  const users = chosenUsers();
  const rows = new Map();
  let header = '';
  const left = await doToEach(users, progress, signal, async ({ id, email }) => {
    if (email === '') throw new Error('A user without an email is only in the file of all users');
    const answer = await call('GET', fileOf(link, { email }), { signal });
    const text = await whole(answer.text(), signal);
    const begin = link.dataset.file === 'csv' ? text.indexOf('\n') + 1 : 0;
    if (begin === text.length) throw new Error('No user has this email any more');
    header = text.slice(0, begin);
    rows.set(id, text.slice(begin));
  });
  if (signal.aborted) return;
  if (rows.size > 0) {
    const mark = 'spreadsheet' in link.dataset ? '\ufeff' : ''; // which is no part of a text that was read
    const file = [mark, header, ...users.map(({ id }) => rows.get(id) ?? '')];
    save(new Blob(file), `users-selected.${link.dataset.file}`);
  }
  say(`${count(rows.size)} exported${sayLeft(left)}`, '', left.failures);
}

function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser reads it while it saves
}
