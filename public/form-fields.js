// What scripts add to the dashboard's forms: a picker beside colours, rows for lists, a preview that follows, a question before changes are lost.

// The picker knows no empty colour, so the text is what is sent.
for (const text of document.querySelectorAll('input[data-color]')) {
  const picker = document.createElement('input');
  picker.type = 'color';
  // What it opens with where none is chosen: the pages' own.
  picker.value = '#2b5fc7';
  picker.setAttribute('aria-label', `Pick the colour: ${text.labels[0]?.textContent.trim() ?? ''}`);
  const show = () => {
    if (/^#[0-9a-f]{6}$/i.test(text.value)) picker.value = text.value;
  };
  show();
  text.addEventListener('input', show);
  picker.addEventListener('input', () => {
    text.value = picker.value;
    text.dispatchEvent(new Event('input', { bubbles: true }));
  });
  text.after(picker);
}

// A list: a row for each member, with a button that removes it. The text field stays what is sent.
for (const area of document.querySelectorAll('textarea[data-rows]')) {
  const label = area.labels[0]?.firstChild?.textContent.trim() ?? '';
  const rows = document.createElement('ul');
  rows.className = 'list-rows';
  rows.setAttribute('role', 'list');
  const add = document.createElement('button');
  add.type = 'button';
  add.className = 'button quiet';
  add.textContent = 'Add another';
  const inputs = () => [...rows.querySelectorAll('input')];
  const send = () =>
    (area.value = inputs()
      .map(({ value }) => value.trim())
      .filter(Boolean)
      .join('\n'));

  const addRow = (value) => {
    const row = document.createElement('li');
    const input = document.createElement('input');
    const remove = document.createElement('button');
    input.type = 'text';
    // So that the style sheet can tell an empty row.
    input.placeholder = ' ';
    input.value = value;
    input.spellcheck = false;
    input.autocapitalize = 'none';
    input.setAttribute('aria-label', label);
    if (area.getAttribute('aria-describedby')) input.setAttribute('aria-describedby', area.getAttribute('aria-describedby'));
    if (area.getAttribute('aria-invalid')) input.setAttribute('aria-invalid', 'true');
    remove.type = 'button';
    remove.className = 'button quiet';
    remove.textContent = 'Remove';
    const name = () => remove.setAttribute('aria-label', `Remove ${input.value || 'the empty row'}`);
    name();
    input.addEventListener('input', () => (name(), send()));
    // Several lines at once, as they are copied from elsewhere, become several rows.
    input.addEventListener('paste', (event) => {
      const lines = event.clipboardData
        .getData('text')
        .split(/\s*[\r\n]+\s*/)
        .filter(Boolean);
      if (lines.length < 2) return;
      event.preventDefault();
      input.value = lines.shift();
      for (const line of lines) addRow(line);
      name();
      send();
    });
    // Enter goes on to the next row, as in a text field; the form is sent by its button.
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.isComposing) return;
      event.preventDefault();
      addRow('').focus();
    });
    remove.addEventListener('click', () => {
      const next = row.nextElementSibling ?? row.previousElementSibling;
      row.remove();
      send();
      (next?.querySelector('input') ?? add).focus();
    });
    row.append(input, remove);
    rows.append(row);
    return input;
  };
  for (const line of area.value.split('\n')) if (line.trim() !== '') addRow(line.trim());
  if (inputs().length === 0) addRow('');
  add.addEventListener('click', () => addRow('').focus());
  area.hidden = true;
  // A hidden field that is required would stop the form without a word.
  area.required = false;
  area.after(rows, add);
  // The label, and the summary of mistakes, lead to the first row.
  const first = () => inputs()[0] ?? add;
  for (const one of area.labels) one.addEventListener('click', (event) => (event.preventDefault(), first().focus()));
  area.addEventListener('focus', () => first().focus());
  if (area.autofocus) first().focus();
  for (const link of document.querySelectorAll(`a[href="#${CSS.escape(area.id)}"]`)) {
    link.addEventListener('click', (event) => (event.preventDefault(), first().focus()));
  }
}

// The preview of branding follows what is typed, a moment later: the page that is looked at, and another one when it is chosen.
for (const figure of document.querySelectorAll('figure.looks')) {
  const form = figure.closest('form');
  let waiting;
  const follow = () => {
    const entries = new FormData(form);
    for (const frame of figure.querySelectorAll('iframe[data-preview]')) {
      if (frame.offsetParent === null) continue;
      const address = new URL(frame.src);
      for (const name of [...address.searchParams.keys()])
        if (!['client', 'page', 'scheme'].includes(name)) address.searchParams.set(name, entries.get(`branding.${name}`) ?? '');
      if (frame.src !== address.href) frame.src = address.href;
    }
  };
  figure.querySelector('[data-preview-live]').hidden = false;
  figure.addEventListener('change', follow);
  form.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(follow, 300);
  });
}

// A preview of texts follows them, a moment later, by the button that asks for it.
for (const button of document.querySelectorAll('button[data-draft]')) {
  let waiting;
  button.hidden = true;
  button.closest('figure').querySelector('[data-preview-live]').hidden = false;
  button.form.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => button.form.requestSubmit(button), 600);
  });
}

// Changes that aren't saved: the bar says so, and leaving takes a confirmation. What a refusal has sent back isn't saved either.
for (const form of document.querySelectorAll('form[data-unsaved]')) {
  const entries = () => new URLSearchParams(new FormData(form)).toString();
  const saved = form.dataset.unsaved === 'changed' ? null : entries();
  const note = form.querySelector('[data-unsaved-note]');
  let leaves = false;
  const isChanged = () => entries() !== saved;
  const show = () => (note.hidden = !isChanged());
  show();
  form.addEventListener('input', show);
  form.addEventListener('click', () => setTimeout(show));
  form.addEventListener('submit', ({ submitter }) => (leaves = !submitter?.formTarget));
  form.querySelector('[data-cancel]')?.addEventListener('click', () => (leaves = true));
  addEventListener('pageshow', () => ((leaves = false), show()));
  addEventListener('beforeunload', (event) => {
    if (!leaves && isChanged()) event.preventDefault();
  });
}
