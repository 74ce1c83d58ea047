// What scripts add to the dashboard; every page works without them.

const announce = (text) => {
  document.querySelector('#announcements').textContent = text;
};

// Copy buttons, shown where copying works.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll('[data-copy], [data-copy-from]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      const text = button.dataset.copy ?? document.getElementById(button.dataset.copyFrom)?.textContent ?? '';
      await navigator.clipboard.writeText(text);
      const label = button.textContent;
      button.textContent = 'Copied';
      announce('Copied');
      setTimeout(() => (button.textContent = label), 2000);
    });
  }
}

// The exact time in the reader's own zone, where the pointer rests.
const locale = /^en\b/.test(navigator.language) ? navigator.language : 'en-GB';
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long' });
for (const time of document.querySelectorAll('time[datetime]')) {
  const at = new Date(time.dateTime);
  if (!Number.isNaN(at.getTime())) time.title = exact.format(at);
}

// Lists follow their filters at once.
for (const select of document.querySelectorAll('.filters select')) {
  select.addEventListener('change', () => select.form.requestSubmit());
}

// Questions over the page: the page that asks, in a dialog. Whatever doesn't fit goes on as a link.
for (const link of document.querySelectorAll('a[data-dialog]')) {
  link.addEventListener('click', async (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    try {
      const response = await fetch(link.href, { headers: { accept: 'text/html' } });
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      const [title, card] = [page.querySelector('h1'), page.querySelector('main .form-card')];
      if (!response.ok || response.redirected || !title || !card) throw new Error('not a question');
      ask(link, title.textContent, card);
    } catch {
      location.assign(link.href);
    }
  });
}

function ask(opener, text, card) {
  const dialog = document.createElement('dialog');
  const title = document.createElement('h2');
  title.id = 'dialog-title';
  title.textContent = text;
  dialog.setAttribute('aria-labelledby', title.id);
  dialog.append(title, document.adoptNode(card));
  dialog.querySelector('[data-cancel]')?.addEventListener('click', (event) => {
    event.preventDefault();
    dialog.close();
  });
  dialog.addEventListener('close', () => {
    dialog.remove();
    opener.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}

document.querySelector('#error-summary')?.focus();
