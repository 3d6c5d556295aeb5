// The address of the page: what is searched for, in which order, and behind which user the list begins. It is all that
// back, reload and a bookmark need. How many users come before that one is only in the browser's history.

let written = location.search; // the place that the list shows

const sorts = [...document.querySelectorAll('#order option')].map(({ value }) => value.split(' ')[0]);
const fields = [...document.querySelectorAll('#field option')].map(({ value }) => value).slice(1);

/** Returns the order in which a list begins that nobody has turned round: the newest users, or the letter A. */
const usualOrder = (sort) => (sort === 'id' ? 'desc' : 'asc');

/** Reports whether a text may be an id. */
export const isID = (text) => /^-?\d{1,19}$/.test(text);

/** Returns the place that the address names. */
export function readAddress() {
  written = location.search;
  const given = new URLSearchParams(location.search);
  const filter = fields.flatMap((name) => [name, `${name}!`]).find((name) => given.has(name)) ?? '';
  const sort = sorts.find((name) => name === given.get('sort')) ?? 'id';
  const order = given.get('order');
  const after = given.get('after') ?? '';
  const isPlace = sort === 'id' ? isID(after) : after !== '';
  return {
    q: (given.get('q') ?? '').trim(),
    filter, // the field that must have the value, or with a ! after it must not have it, or ''
    value: given.get(filter) ?? '',
    sort,
    order: ['asc', 'desc'].includes(order) ? order : usualOrder(sort),
    after: isPlace ? after : null,
    from: after === '' ? 1 : history.state?.from ?? null,
  };
}

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

/** Returns the parameters that say which users are sought. The service has the same. */
export const filters = ({ q, filter, value }) => ({ ...(q && { q }), ...(filter && { [filter]: value }) });

/** Reports whether a place shows only some of the users. */
export const isSearch = ({ q, filter }) => q !== '' || filter !== '';

/** Returns the parameters of one page of a list, or of its first users. */
export function pageQuery({ sort, order, after, ...sought }, limit) {
  return new URLSearchParams({
    ...filters(sought), ...(sort !== 'id' && { sort }), order, ...(after !== null && { after }), limit,
  });
}
