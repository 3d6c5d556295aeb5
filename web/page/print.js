// Printing everybody whom the list shows, on all pages of it.

import { readAll } from './api.js';
import { currentPlace, isWhole, load } from './list.js';
import { showRows } from './rows.js';
import { say, showNumber } from './show.js';

const most = 10_000; // users: about 300 sheets

/** Reads everybody, and prints. Afterwards the list is as it was. */
export async function printList() {
  if (isWhole()) {
    window.print();
    return;
  }
  try {
    const users = await readAll(currentPlace(), most);
    if (users.length === most) say(`The first ${showNumber(most)} users are printed; Export has all`);
    showRows(users);
    window.addEventListener('afterprint', () => load({ counts: false }), { once: true });
    window.print();
  } catch (error) {
    say(error.message);
  }
}
