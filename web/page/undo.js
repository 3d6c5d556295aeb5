// What was done last, with a button that takes it back: until something else is done, or the message is closed.

import { changedMeanwhile, writeFields } from './conflict.js';
import { readUser } from './api.js';
import { load } from './list.js';
import { changeEach, sayLeft } from './many.js';
import { count, keptFor, say, short } from './show.js';

const message = document.querySelector('#done');
const bar = message.querySelector('progress');

let takeBack = null; // what Undo does; null while there is nothing, or while it is done

/** Says what was done. Where changes are kept, it can be taken back. */
export function done(sentence, undo = null) {
  takeBack = keptFor > 0 ? undo : null;
  if (message.contains(document.activeElement)) document.querySelector('#list').focus({ preventScroll: true });
  message.querySelector('p').textContent = takeBack ? sentence : '';
  message.querySelector('.actions').hidden = !takeBack;
  say(takeBack ? '' : sentence);
}

async function undoLast() {
  const undo = takeBack;
  if (!undo) return;
  takeBack = null;
  try {
    const words = await undo(bar);
    if (words) done(words); // otherwise the person has decided to leave it
    load();
  } catch (error) {
    say(error.message);
  }
  bar.hidden = true;
  takeBack ??= message.querySelector('p').textContent ? undo : null;
}

message.querySelector('#undo').addEventListener('click', undoLast);
message.querySelector('#dismiss').addEventListener('click', () => done(''));
document.addEventListener('keydown', (event) => {
  const isUndo = event.key === 'z' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
  if (!isUndo || !takeBack || event.target.closest('dialog, select, input:not([type=checkbox])')) return;
  event.preventDefault();
  undoLast();
});

/**
 * Takes back changes, each with the values before and after of a user's fields, and says so. Where somebody has changed a
 * field since, the person decides, until they want neither value.
 */
export async function undoChanges(changes, progress = bar) {
  const isOlder = ({ failure }) => failure.isOlder;
  const { failures, waiting } = await changeEach(changes, progress, new AbortController().signal, (now, one) => {
    if (changedMeanwhile(now, one.before, one.after).length > 0) throw Object.assign(new Error(), { isOlder: true });
    return { method: 'PATCH', body: one.before };
  });
  let goesOn = true;
  for (const { user: one } of failures.filter(isOlder)) {
    const change = goesOn && await writeFields(await readUser(one.id), one.before, one.after, 'undo');
    goesOn = change !== null;
    if (!change || Object.keys(change.after).length === 0) waiting.push(one);
  }
  const failed = failures.filter((one) => !isOlder(one));
  const n = changes.length - failed.length - waiting.length;
  if (changes.length > 1) return `${count(n)} changed back${sayLeft({ failures: failed, waiting })}`;
  if (failed.length > 0) throw failed[0].failure;
  return n === 1 ? `${short(changes[0].name)} was changed back` : '';
}
