// Exporting. Without a key the links are plain downloads; a key can only be sent by a request of the page's own, which
// holds the file in memory until it is whole.

import { filters, isSearch } from './address.js';
import { call, whole } from './api.js';
import { hasKey } from './key.js';
import { countFound, currentPlace, sayPlace } from './list.js';
import { chosenUsers } from './selection.js';
import { count, showNumber } from './show.js';

const mostIDs = 100; // in one request

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
  found.querySelector('bdi').textContent = sayPlace();
  found.querySelector('span span').textContent = matches === null ? '' : showNumber(matches);
  all.querySelector('span').textContent = total === null ? 'All' : `All ${showNumber(total)}`;
  say('');
  showLinks();
  dialog.showModal();
}

function say(words, failure = '') {
  busy.textContent = words;
  error.textContent = failure;
  progress.hidden = true;
}

const isFor = (what) => dialog.querySelector(`[value=${what}]`).checked;

/** The links lead to what is searched for, or to all. */
function showLinks() {
  for (const link of links) link.href = fileOf(link, isFor('found') ? filters(currentPlace()) : []);
}

function fileOf({ dataset }, parameters) {
  const query = new URLSearchParams([...parameters, ...('spreadsheet' in dataset ? [['spreadsheet', true]] : [])]);
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

/** Makes one file of the selected users by their ids, in as many parts as that takes. */
async function downloadChosen(link, signal) {
  say('Fetching the users…');
  const ids = chosenUsers().map(({ id }) => id).sort((one, other) => (BigInt(one) < BigInt(other) ? -1 : 1));
  const parts = 'spreadsheet' in link.dataset ? ['\ufeff'] : []; // which is no part of a text that was read
  let n = 0;
  [progress.max, progress.value, progress.hidden] = [ids.length, 0, ids.length <= mostIDs];
  try {
    for (let i = 0; i < ids.length; i += mostIDs) {
      const some = ids.slice(i, i + mostIDs).map((id) => ['id', id]);
      const answer = await call('GET', fileOf(link, [...some, ['count', true]]), { signal });
      const text = await whole(answer.text(), signal);
      parts.push(i > 0 && link.dataset.file === 'csv' ? text.slice(text.indexOf('\n') + 1) : text);
      n += Number(answer.headers.get('X-Total-Count'));
      progress.value = i + some.length;
    }
  } catch (failure) {
    if (!signal.aborted) say('', failure.message);
    return;
  }
  if (n > 0) save(new Blob(parts), `users-selected.${link.dataset.file}`);
  say(`${count(n)} exported${n < ids.length ? `, ${showNumber(ids.length - n)} not found` : ''}`);
}

function save(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser reads it while it saves
}
