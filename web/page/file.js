// A file as text: in UTF-8, whatever program wrote it; who is in it; and what is in a line that was refused.

import { nameIn, readTable } from './titles.js';

const most = 1000; // characters of a line
const beginning = 1 << 20; // bytes in which names are looked for
const mostNames = 5;

/**
 * Returns a file in UTF-8, which is all that the service takes. If it was in another encoding, that and the first names are
 * returned, too: UTF-16 begins with a mark, and what is no UTF-8 either is likely Windows-1252, which Excel writes.
 */
export async function toUTF8(file) {
  const mark = String(new Uint8Array(await file.slice(0, 2).arrayBuffer()));
  const marked = { '255,254': 'UTF-16LE', '254,255': 'UTF-16BE' }[mark];
  if (!marked && await isUTF8(file)) return { file };
  const encoding = marked ?? 'Windows-1252';
  const text = file.stream().pipeThrough(new TextDecoderStream(encoding)).pipeThrough(new TextEncoderStream());
  const converted = new File([await new Response(text).blob()], file.name);
  return { file: converted, encoding, names: await firstNames(converted) };
}

async function isUTF8(file) {
  try {
    await file.stream().pipeThrough(new TextDecoderStream('utf-8', { fatal: true })).pipeTo(new WritableStream());
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error; // the file is gone, or was changed
  }
}

/** Returns the first names in a file; of names with letters that an encoding can get wrong, if there are any. */
async function firstNames(file) {
  const text = await file.slice(0, beginning).text();
  const names = text.startsWith('{') ? namesInJSON(text) : namesInCSV(text);
  const odd = names.filter((name) => /[^ -~]/.test(name));
  return (odd.length > 0 ? odd : names).slice(0, mostNames);
}

const namesInJSON = (text) => [...text.matchAll(/"name"\s*:\s*"([^"]*)"/g)].map(([, name]) => name);

function namesInCSV(text) {
  const { rows, choices } = readTable(text);
  return rows.map(({ values }) => nameIn(values, choices)).filter(Boolean);
}

/** Returns the beginnings of some lines by their numbers. A large file is read in pieces, no further than needed. */
export async function readLines(file, numbers) {
  const lines = new Map(numbers.map((number) => [number, '']));
  const last = Math.max(...numbers);
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  let number = 1;
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true })); // the file is gone or was changed
    if (done) return lines;
    for (const [i, text] of value.split('\n').entries()) {
      if (i > 0) number += 1;
      if (lines.has(number)) lines.set(number, (lines.get(number) + text).slice(0, most));
    }
    if (number > last) {
      reader.cancel();
      return lines;
    }
  }
}
