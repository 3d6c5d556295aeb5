// Which columns of the list are shown. What a person chooses is kept in this browser, if it keeps anything.

const usual = 12; // columns beside name and email: they fill the two lines of a row

const boxes = [...document.querySelectorAll('#columns input')];
const template = document.querySelector('#row').content;

let hidden = new Set(boxes.slice(usual).map(({ value }) => value));
try {
  hidden = new Set(JSON.parse(localStorage.getItem('hidden')) ?? hidden);
} catch { /* then the usual ones are shown */ }

function show() {
  for (const part of [document.querySelector('#list'), template]) {
    for (const cell of part.querySelectorAll('[data-column]')) cell.hidden = hidden.has(cell.dataset.column);
  }
}

for (const box of boxes) {
  box.checked = !hidden.has(box.value);
  box.addEventListener('change', () => {
    hidden[box.checked ? 'delete' : 'add'](box.value);
    show();
    try {
      localStorage.setItem('hidden', JSON.stringify([...hidden]));
    } catch { /* then it counts until the page is left */ }
  });
}
show();
