// The history of a user: who changed what, and when. Each change can be taken back.

import { call, readJSON } from './api.js';
import { showAgain, shownUser } from './change.js';
import { load } from './list.js';
import { enter, leave } from './opened.js';
import { inputs, sayWho, showTime, shownValue } from './show.js';
import { done, undoChanges } from './undo.js';

const dialog = document.querySelector('#history');
const find = (selector) => dialog.querySelector(selector);
const words = { created: 'Added', deleted: 'Deleted', changed: 'Changed' };
const addresses = () => [`#user=${shownUser().id}&history`, `#user=${shownUser().id}`];

/** Shows the history of the user whose form is open. */
export function showHistory() {
  find('bdi').textContent = shownUser().name;
  dialog.showModal();
  enter(addresses()[0]);
  list('');
}

dialog.addEventListener('close', () => leave(...addresses()));

/** Lists the entries, the newest first, and says what was done. */
async function list(sentence, error = '') {
  try {
    const answer = await call('GET', `api/users/${shownUser().id}/changes?limit=1000`);
    find('.entries').replaceChildren(...(await readJSON(answer)).changes.map(entry));
    const older = answer.headers.has('Link') ? 'Older changes are not shown' : '';
    say([sentence, older].filter(Boolean).join('. '), error);
  } catch (failure) {
    say(sentence, failure.message);
  }
}

function say(sentence, error) {
  find('[role=status]').textContent = sentence;
  find('.error').textContent = error;
}

function entry({ op, at, by, before, after = {} }) {
  const li = document.querySelector('#entry').content.cloneNode(true).firstElementChild;
  const fields = Object.keys(after).filter((field) => inputs.has(field)); // those that are served still
  const time = li.querySelector('time');
  showTime(time, at);
  li.querySelector('span').textContent = `${words[op]}${by ? ` by ${sayWho(by)}` : ''}`;
  for (const field of fields) {
    const values = [before, after].map((one) => {
      const value = document.createElement('bdi');
      value.textContent = shownValue(field, one[field]);
      return value;
    });
    const line = li.querySelector('ul').appendChild(document.createElement('li'));
    line.append(`${inputs.get(field).labels[0].textContent}: `, values[0], ' → ', values[1]);
  }
  const button = li.querySelector('button');
  button.hidden = fields.length === 0;
  button.ariaLabel = `Undo the change of ${time.textContent}`;
  const old = Object.fromEntries(fields.map((field) => [field, before[field]]));
  button.addEventListener('click', () => takeBack({ ...shownUser(), before: old, after }));
  return li;
}

async function takeBack(change) {
  try {
    const sentence = await undoChanges([change], find('progress'));
    if (sentence) done('');
    await showAgain();
    await list(sentence);
    load();
  } catch (error) {
    say('', error.message);
  }
}
