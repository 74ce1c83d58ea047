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

// A row of tabs that is wider than a phone shows the one in use.
document.querySelector('.tabs [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });

// The exact time in the reader's own zone, where the pointer rests.
const locale = /^en\b/.test(navigator.language) ? navigator.language : 'en-GB';
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'long' });

function tellTimes() {
  for (const time of document.querySelectorAll('time[datetime]')) {
    const at = new Date(time.dateTime);
    if (!Number.isNaN(at.getTime())) time.title = exact.format(at);
  }
}
tellTimes();

// The values of a day in a chart: of the one under the pointer or finger, or the one that arrow keys have come to.
for (const drawing of document.querySelectorAll('.chart .drawing')) {
  const [svg, slider, values] = drawing.children;
  const swatches = [...drawing.parentElement.querySelectorAll('.legend .swatch')];
  const days = [...svg.querySelectorAll('.day')];
  // The browser's own tip would be a second one.
  const texts = days.map((day) => {
    const title = day.querySelector('title');
    title.remove();
    return title.textContent.split('\n');
  });
  const show = (current) => {
    days.forEach((day, index) => day.classList.toggle('current', index === current));
    values.hidden = current === null;
    if (current === null) return;
    slider.value = current;
    slider.setAttribute('aria-valuetext', texts[current].join(', '));
    values.style.setProperty('--at', (current + 0.5) / days.length);
    values.replaceChildren(
      ...texts[current].map((text, index) => {
        const line = document.createElement('span');
        line.append(...(index === 0 ? [] : [swatches[index - 1].cloneNode()]), text);
        return line;
      }),
    );
  };
  slider.hidden = false;
  slider.setAttribute('aria-valuetext', texts.at(-1).join(', '));
  slider.addEventListener('focus', () => show(Number(slider.value)));
  slider.addEventListener('input', () => show(Number(slider.value)));
  slider.addEventListener('blur', () => show(null));
  const choose = (event) => {
    const day = days.indexOf(event.target.closest('.day'));
    if (day >= 0) show(day);
  };
  svg.addEventListener('pointermove', choose);
  svg.addEventListener('pointerleave', () => document.activeElement !== slider && show(null));
  // Stays until somebody goes elsewhere, also where there is no pointer to rest.
  svg.addEventListener('click', (event) => {
    choose(event);
    slider.focus({ preventScroll: true });
  });
}

// Lists follow their filters at once: a choice leads to the page, what is typed changes the rows below the field.
for (const form of document.querySelectorAll('.filters')) {
  let [asked, timer] = [new AbortController()];
  const follow = async () => {
    asked.abort();
    asked = new AbortController();
    const address = `${form.action}?${new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ''))}`;
    try {
      const response = await fetch(address, { signal: asked.signal, headers: { accept: 'text/html' } });
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      const [there, list] = [document.querySelector('.filters + .list'), page.querySelector('.filters + .list')];
      if (response.redirected || !there || !list) return form.requestSubmit();
      there.replaceWith(document.adoptNode(list));
      for (const old of form.querySelectorAll('.clear, .looked-up')) old.remove();
      form.append(...page.querySelectorAll('.filters > :is(.clear, .looked-up)'));
      const more = form.querySelector('.more-filters');
      if (more) more.textContent = page.querySelector('.more-filters').textContent;
      history.replaceState(null, '', address);
      tellTimes();
      listenToSelections();
      announce(list.querySelector('.row-count, .empty-title')?.textContent ?? '');
    } catch {
      // Somebody typed on, or the network is gone: Enter still leads there.
    }
  };
  // Of several that a phone shows over the list the last is chosen before the list changes.
  form.addEventListener('change', ({ target }) => target.matches('select:not(:popover-open select)') && form.requestSubmit());
  form.addEventListener('input', ({ target }) => {
    clearTimeout(timer);
    if (target.tagName === 'INPUT') timer = setTimeout(follow, 250);
  });
  form.addEventListener('submit', () => {
    clearTimeout(timer);
    asked.abort();
  });
}

// What can be done with selected rows shows once there are some; one box selects all of the page.
function listenTo(form) {
  const boxes = [...form.elements].filter((one) => one.type === 'checkbox');
  const all = document.querySelector(`[data-select-all="${form.id}"]`);
  const show = () => {
    const count = boxes.filter((box) => box.checked).length;
    form.hidden = count === 0;
    form.querySelector('[data-selected-count]').textContent = count;
    all.checked = count === boxes.length;
    all.indeterminate = count > 0 && count < boxes.length;
  };
  all.hidden = false;
  all.addEventListener('change', () => {
    for (const box of boxes) box.checked = all.checked;
    show();
  });
  for (const box of boxes) box.addEventListener('change', show);
  // Whoever comes back finds the boxes as they were.
  addEventListener('pageshow', show);
  show();
}

function listenToSelections() {
  for (const form of document.querySelectorAll('.selection')) listenTo(form);
}
listenToSelections();

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
