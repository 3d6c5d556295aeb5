// The lines of a file, to show what is in a row that was refused.

const most = 1000; // characters of a line

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
