// CSV as the service reads it (RFC 4180): which rows and values a text has, and the same text with other values in it. What
// is no CSV stays as it is, and every row keeps its lines: the service refuses it with its own words, in the right line.

const breaksIn = (text) => text.split('\n').length - 1;
const quote = (value, breaks) => `"${value.replaceAll('"', '""')}${'\n'.repeat(breaks)}"`;

/** Yields the rows of a text that are not blank, with their values and where these are. With a mistake it ends with its line. */
export function* readRows(text, separator) {
  const cell = new RegExp(`("[^"]*(?:""[^"]*)*")?([^${separator}\n]*)(${separator}|\n|$)`, 'y');
  while (cell.lastIndex < text.length) {
    const row = { places: [], values: [], isBroken: false };
    for (let end = separator; end === separator && !row.isBroken;) {
      const from = cell.lastIndex;
      const [, quoted = '', rest, after] = cell.exec(text);
      const plain = rest.replace(/\r+$/, '');
      row.places.push([from, from + quoted.length + plain.length]);
      row.values.push(quoted ? quoted.slice(1, -1).replaceAll('""', '"') : plain);
      row.isBroken = quoted ? plain !== '' : plain.includes('"');
      end = after;
    }
    if (row.isBroken && text[cell.lastIndex - 1] === separator) cell.lastIndex = text.indexOf('\n', cell.lastIndex) + 1 || text.length;
    if (row.values.some((value) => value.trim() !== '')) yield row;
  }
}

/** Returns the one of comma, semicolon and tab with which the first row has the most columns, known ones before all. */
export function separatorOf(text, isKnown) {
  const score = (separator) => {
    const titles = readRows(text, separator).next().value?.values ?? [];
    return titles.length + 1000 * titles.filter(isKnown).length;
  };
  return [',', ';', '\t'].toSorted((one, other) => score(other) - score(one))[0];
}

/** Returns a text with other titles, and in each row two values in place of the first of them, joined with a blank. */
export function rewrite(text, separator, titles, joined) {
  const parts = [];
  let done = 0;
  const put = ([from, to], value) => {
    parts.push(text.slice(done, from), value);
    done = to;
  };
  const rows = readRows(text, separator);
  rows.next().value.places.forEach((place, i) => put(place, quote(titles[i], breaksIn(text.slice(...place)))));
  for (const { places, values, isBroken } of joined ? rows : []) {
    if (isBroken || Math.max(...joined) >= places.length) continue; // the service says what is wrong with it
    const name = joined.map((column) => values[column].trim().replace(/\s+/g, ' ')).filter(Boolean).join(' ');
    const breaks = breaksIn(joined.map((column) => text.slice(...places[column])).join('')); // into what is left out
    for (const column of joined.toSorted((a, b) => a - b)) {
      put(places[column], column === joined[0] ? quote(name, 0) : quote('', breaks));
    }
  }
  return [...parts, text.slice(done)];
}
