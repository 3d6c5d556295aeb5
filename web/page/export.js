// Exporting. Without a key the links are plain downloads; a key can only be sent by a request of the page's own, which
// holds the file in memory until it is whole. Selected users are asked for by their ids, in as many requests as it takes.

import { filters, isSearch } from './place.js';
import { bodyOf, call, questions } from './api.js';
import { hasKey } from './key.js';
import { countFound, currentPlace, sayPlace } from './list.js';
import { chosenUsers } from './selection.js';
import { count, showNumber } from './show.js';

const mostIDs = 100; // in one request
const dialog = document.querySelector('#export');
const begin = questions(dialog);

/** Asks which users, and in which form. What was asked for is chosen already: those who are found, or those selected. */
export function exportUsers(what = 'found') {
  const place = currentPlace();
  const { total, matches } = countFound();
  const n = chosenUsers().length;
  const [ofChosen, found, all] = dialog.querySelectorAll('fieldset label');
  [ofChosen.hidden, found.hidden] = [n === 0, !isSearch(place)];
  dialog.querySelector(`[value=${what === 'found' && !isSearch(place) ? 'all' : what}]`).checked = true;
  ofChosen.querySelector('span').textContent = `The ${showNumber(n)} selected`;
  found.querySelector('bdi').textContent = `The ${matches === null ? '' : showNumber(matches)} found: ${sayPlace()}`;
  all.querySelector('span').textContent = total === null ? 'All' : `All ${showNumber(total)}`;
  say('');
  dialog.showModal();
}

function say(words, failure = '') {
  dialog.querySelector('[role=status]').textContent = words;
  dialog.querySelector('.error').textContent = failure;
}

const isFor = (what) => dialog.querySelector(`[value=${what}]`).checked;

/** Returns the parameters that find what is searched for, or all. */
const sought = () => (isFor('found') ? filters(currentPlace()) : []);

function fileOf({ dataset }, parameters) {
  const query = new URLSearchParams([...parameters, ...('spreadsheet' in dataset ? [['spreadsheet', true]] : [])]);
  return `api/users.${dataset.file}${query.size ? `?${query}` : ''}`;
}

for (const link of dialog.querySelectorAll('a')) {
  link.addEventListener('click', (event) => {
    link.href = fileOf(link, sought());
    if (!hasKey() && !isFor('chosen')) return;
    event.preventDefault();
    download(link, begin());
  });
}

/** Makes one file of the answers to one request, or to as many as there are hundreds of selected users. */
async function download(link, signal) {
  say('Fetching the users…');
  const ids = chosenUsers().map(({ id }) => id).sort((one, other) => (BigInt(one) < BigInt(other) ? -1 : 1));
  const parts = 'spreadsheet' in link.dataset ? ['\ufeff'] : []; // which is no part of a text that was read
  let n = 0;
  try {
    for (let i = 0; i === 0 || isFor('chosen') && i < ids.length; i += mostIDs) {
      const some = isFor('chosen') ? ids.slice(i, i + mostIDs).map((id) => ['id', id]) : sought();
      const answer = await call('GET', fileOf(link, [...some, ['count', true]]), { signal });
      const text = await bodyOf(answer);
      parts.push(i > 0 && link.dataset.file === 'csv' ? text.slice(text.indexOf('\n') + 1) : text);
      n += Number(answer.headers.get('X-Total-Count'));
    }
    const href = URL.createObjectURL(new Blob(parts));
    if (n > 0) Object.assign(document.createElement('a'), { href, download: `users.${link.dataset.file}` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000); // the browser reads it while it saves
    say(`${count(n)} exported${isFor('chosen') && n < ids.length ? `, ${showNumber(ids.length - n)} not found` : ''}`);
  } catch (failure) {
    if (!signal.aborted) say('', failure.message);
  }
}
