// One submission per click: a second one would spend a code or a decision twice. Forms in dialogs are covered too.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (form.getAttribute('method') !== 'post' || event.submitter?.formTarget) return;
  if (form.dataset.sent) return event.preventDefault();
  form.dataset.sent = 'true';
  event.submitter?.setAttribute('aria-busy', 'true');
  setTimeout(() => release(form), 10_000);
});

function release(form) {
  delete form.dataset.sent;
  for (const button of form.querySelectorAll('[aria-busy]')) button.removeAttribute('aria-busy');
}

// Back from the next page, the form can be sent again.
addEventListener('pageshow', (event) => {
  if (event.persisted) document.querySelectorAll('form[data-sent]').forEach(release);
});
