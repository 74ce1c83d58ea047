// The search field of every page: keys that lead to it, and what is found while somebody types. Without this, Enter leads to the same results.

const form = document.querySelector('.find');
const input = form.querySelector('input');
const panel = document.createElement('div');
panel.className = 'found';
panel.hidden = true;
form.append(panel);

const writes = (target) => target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);

document.addEventListener('keydown', (event) => {
  const isSlash = event.key === '/' && !event.metaKey && !event.ctrlKey && !event.altKey && !writes(event.target);
  const isK = event.key === 'k' && (event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey;
  if ((!isSlash && !isK) || document.querySelector('dialog[open]')) return;
  event.preventDefault();
  input.focus();
  input.select();
});

let asked = new AbortController();
let timer;
/** What the field held when the results were shown. */
let shown = '';

function close() {
  clearTimeout(timer);
  asked.abort();
  panel.hidden = true;
  shown = '';
}

async function find() {
  const text = input.value.trim();
  if (text === shown) return;
  if (text.length < 2) return close();
  asked.abort();
  asked = new AbortController();
  const { signal } = asked;
  try {
    // A whole id leads away from the results, to its record: that takes Enter.
    const response = await fetch(`${form.action}?${new URLSearchParams({ q: text })}`, {
      signal,
      redirect: 'manual',
      headers: { accept: 'text/html' },
    });
    if (!response.ok) return close();
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const results = page.querySelector('main .results');
    if (signal.aborted || !results || !form.contains(document.activeElement)) return;
    panel.replaceChildren(document.adoptNode(results));
    panel.hidden = false;
    shown = text;
    const count = panel.querySelectorAll('a').length;
    document.querySelector('#announcements').textContent = count === 1 ? '1 result' : `${count} results`;
  } catch {
    // Somebody typed on, or the network is gone: Enter still leads to the results.
  }
}

input.addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(find, 200);
});

form.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !panel.hidden) {
    event.preventDefault();
    close();
    return input.focus();
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || panel.hidden) return;
  event.preventDefault();
  const stops = [input, ...panel.querySelectorAll('a')];
  stops.at((stops.indexOf(document.activeElement) + step) % stops.length)?.focus();
});

form.addEventListener('focusout', ({ relatedTarget }) => {
  if (!form.contains(relatedTarget)) close();
});
