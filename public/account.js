// What scripts add to the account pages; every page works without them.

/** What scripts say, in the language of the page. */
const words = JSON.parse(document.body.dataset.words ?? '{}');

// Show and hide passwords.
for (const input of document.querySelectorAll('input[type="password"]')) {
  const button = document.createElement('button');
  const show = (visible) => {
    input.type = visible ? 'text' : 'password';
    button.textContent = visible ? words.hide : words.show;
    button.setAttribute('aria-label', visible ? words.hide_password : words.show_password);
  };
  button.type = 'button';
  button.className = 'reveal';
  button.setAttribute('aria-controls', input.id);
  button.addEventListener('click', () => {
    show(input.type === 'password');
    input.focus();
  });
  show(false);
  input.after(button);
  // Password managers save what is typed as a password.
  input.form?.addEventListener('submit', () => show(false));
}

// Codes pasted with spaces or dashes.
for (const input of document.querySelectorAll('input[autocomplete="one-time-code"]')) {
  input.addEventListener('input', () => {
    const digits = input.value.replace(/\D/g, '').slice(0, 10);
    if (digits !== input.value) input.value = digits;
  });
}

// Times in the reader's own zone and habits, in the page's language; the attribute keeps the exact one.
const { lang } = document.documentElement;
const own = navigator.languages.find((tag) => tag.split('-')[0] === lang.split('-')[0]);
const locale = `${own ?? (lang === 'en' ? 'en-GB' : lang)}-u-nu-latn`;
const formats = {
  date: new Intl.DateTimeFormat(locale, { dateStyle: 'long' }),
  time: new Intl.DateTimeFormat(locale, { timeStyle: 'short' }),
  both: new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' }),
};
for (const time of document.querySelectorAll('time[datetime]')) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) continue;
  time.title = time.textContent;
  time.textContent = formats[time.dataset.format ?? 'both'].format(at);
}

for (const button of document.querySelectorAll('[data-print]')) {
  button.hidden = false;
  button.addEventListener('click', () => print());
}

document.querySelector('#error-summary')?.focus();
