// Passkeys on the account's own pages: each form with `data-passkey` asks the browser for one, and sends what it answers. Everything else works without.
const { browserSupportsWebAuthn, startAuthentication, startRegistration } = globalThis.SimpleWebAuthnBrowser;

const words = {
  create: {
    unsupported: 'This browser can’t make passkeys.',
    NotAllowedError: 'No passkey was added. You can try again whenever you like.',
    InvalidStateError: 'This device has a passkey for your account already.',
    other: 'This didn’t work here. Try again, or use another device.',
  },
  get: {
    unsupported: 'This browser can’t use passkeys. Choose another way.',
    NotAllowedError: 'No passkey was used. Try again, or choose another way.',
    other: 'This didn’t work here. Try again, or choose another way.',
  },
};
const away = 'We can’t be reached right now. Check your connection, then try again.';

/** The live region that says what became of the dialog. */
const region = document.querySelector('[data-passkey-said]');
const say = (text) => {
  if (region) region.textContent = text;
};

async function optionsOf(form) {
  const response = await fetch(form.dataset.options, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: '{}',
  }).catch(() => null);
  if (response?.ok) return response.json();
  const refusal = await response?.json().catch(() => null);
  if (refusal?.error === 'confirmation_required') location.assign('/account/confirm?return_to=%2Faccount%3Fadd%3Dpasskey');
  else if (refusal?.error === 'login_required') location.assign('/login?return_to=%2Faccount');
  else say(refusal?.error_description ?? away);
  return null;
}

async function ask(form) {
  const optionsJSON = await optionsOf(form);
  if (optionsJSON === null) return;
  const start = form.dataset.passkey === 'create' ? startRegistration : startAuthentication;
  const credential = await start({ optionsJSON });
  form.querySelector('[data-credential]').value = JSON.stringify(credential);
  form.requestSubmit();
}

for (const form of document.querySelectorAll('form[data-passkey]')) {
  const texts = words[form.dataset.passkey];
  if (!browserSupportsWebAuthn()) {
    say(texts.unsupported);
    continue;
  }
  const button = form.querySelector('button');
  form.hidden = false;
  button.addEventListener('click', async () => {
    if (button.getAttribute('aria-busy')) return;
    button.setAttribute('aria-busy', 'true');
    say('');
    try {
      await ask(form);
    } catch (error) {
      say(texts[error.name] ?? texts.other);
    }
    button.removeAttribute('aria-busy');
  });
}
for (const hint of document.querySelectorAll('[data-without-script]')) hint.hidden = true;

const query = new URLSearchParams(location.search);
if (query.get('add') === 'passkey') {
  document.querySelector('#add-passkey button')?.focus();
  say('Thank you. Go on with “Add a passkey”.');
}

// The browser may forget what is not good any more (WebAuthn L3 5.1.10.3).
const own = document.querySelector('#sign-in-methods');
if (own && ['passkey', 'removed'].includes(query.get('done'))) {
  const { rpId, userId, credentialIds } = own.dataset;
  const allAcceptedCredentialIds = credentialIds.split(' ').filter(Boolean);
  globalThis.PublicKeyCredential?.signalAllAcceptedCredentials?.({ rpId, userId, allAcceptedCredentialIds }).catch(() => {});
}
