// The address of the page: what is searched for, in which order, and behind which user the list begins. It is all that
// back, reload and a bookmark need. How many users come before that one is only in the browser's history.

let written = location.search; // the place that the list shows

const sorts = ['id', ...[...document.querySelectorAll('[data-sort]')].map(({ dataset }) => dataset.sort)];
const fields = [...document.querySelectorAll('#field option')];

/** How the name of a filter's parameter goes on behind its field. */
const endings = { is: '', empty: '', 'is!': '!', 'empty!': '!', from: '_from', to: '_to' };
const ofRanges = ['', '!', '_from', '_to'];
const endingsOf = { time: ofRanges.slice(2), date: ofRanges, number: ofRanges };

/** Returns the order in which a list begins that nobody has turned round: the newest users, or the letter A. */
const usualOrder = (sort) => (sort === 'id' ? 'desc' : 'asc');

/** Reports whether a text may be an id. */
export const isID = (text) => /^-?\d{1,19}$/.test(text);

/** Returns the place that the address names. */
export function readAddress() {
  written = location.search;
  const given = new URLSearchParams(location.search);
  const sort = sorts.find((name) => name === given.get('sort')) ?? 'id';
  const order = given.get('order');
  const after = given.get('after') ?? '';
  const isPlace = sort === 'id' ? isID(after) : after !== '';
  return {
    q: (given.get('q') ?? '').trim(),
    filters: readFilters(given), // each has a field, a condition, and the values of which a user has one
    sort,
    order: ['asc', 'desc'].includes(order) ? order : usualOrder(sort),
    after: isPlace ? after : null,
    from: after === '' ? 1 : history.state?.from ?? null,
  };
}

function readFilters(given) {
  const possible = fields.flatMap(({ value: field, dataset: { kind } }) => (
    (endingsOf[kind] ?? ['', '!']).map((ending) => ({ field, ending, values: given.getAll(field + ending) }))));
  return possible.filter(({ values }) => values.length > 0).map(({ field, ending, values }) => {
    const is = values.every((value) => value === '') ? 'empty' : 'is';
    return { field, condition: ending.startsWith('_') ? ending.slice(1) : is + ending, values };
  });
}

/** Returns the name of the parameter that a filter is. */
export const parameterOf = ({ field, condition }) => field + endings[condition];

/** Writes a place into the address: as a new entry of the history, or in place of the present one. */
export function writeAddress(place, isNew) {
  const { sort, order, after, from } = place;
  const given = new URLSearchParams(filters(place));
  if (sort !== 'id') given.set('sort', sort);
  if (order !== usualOrder(sort)) given.set('order', order);
  if (after !== null) given.set('after', after);
  const address = given.size ? `?${given}` : location.pathname;
  history[isNew ? 'pushState' : 'replaceState']({ from }, '', address);
  written = location.search;
}

/** Reports whether the address, after Back, names another place than the list shows. */
export const isElsewhere = () => location.search !== written;

/** Returns the parameters that say which users are sought, as pairs. The service has the same. */
export const filters = (place) => [
  ...(place.q === '' ? [] : [['q', place.q]]),
  ...place.filters.flatMap((filter) => filter.values.map((value) => [parameterOf(filter), value])),
];

/** Reports whether a place shows only some of the users. */
export const isSearch = (place) => place.q !== '' || place.filters.length > 0;

/** Returns the parameters of one page of a list, or of its first users. */
export function pageQuery(place, limit) {
  const { sort, order, after } = place;
  return new URLSearchParams([
    ...filters(place), ...(sort === 'id' ? [] : [['sort', sort]]), ['order', order],
    ...(after === null ? [] : [['after', after]]), ['limit', limit],
  ]);
}
