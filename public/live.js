// A list that grows while it is looked at: each event of its stream becomes its first row, made as the one that stands there. Without this, the page shows them when it is loaded again.

const list = document.querySelector('[data-live]');
const source = new EventSource(list.dataset.live);
const maxRows = 100;

function fill(row, { path, event, about, timestamp }) {
  row.querySelector('.row-link').href = path;
  row.querySelector('code').textContent = event;
  const subject = row.querySelector('[data-label="About"]');
  if (subject) subject.textContent = about;
  const time = row.querySelector('time');
  if (!time) return;
  const at = new Date(timestamp);
  time.dateTime = timestamp;
  time.title = at.toLocaleString();
  time.textContent = at.toLocaleTimeString();
}

source.addEventListener('message', ({ data }) => {
  const first = list.querySelector('tbody tr');
  if (!first) return location.reload();
  const row = first.cloneNode(true);
  fill(row, JSON.parse(data));
  first.before(row);
  // It says how many there were.
  list.querySelector('.row-count')?.remove();
  const rows = row.parentElement.rows;
  if (rows.length > maxRows) rows[rows.length - 1].remove();
  document.querySelector('#announcements').textContent = row.querySelector('code').textContent;
});

// A connection that stays open would keep the page from the browser's cache of pages.
window.addEventListener('pagehide', () => source.close());
