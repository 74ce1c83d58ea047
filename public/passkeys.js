// Passkeys on the account pages: forms with `data-passkey` stay hidden where none can be used. Everything else works without.
const { browserSupportsWebAuthn, browserSupportsWebAuthnAutofill, startAuthentication, startRegistration } =
  globalThis.SimpleWebAuthnBrowser;

const texts = JSON.parse(document.body.dataset.words ?? '{}');
const words = {
  get: { NotAllowedError: texts.not_used, other: texts.failed },
  create: { NotAllowedError: texts.not_made, InvalidStateError: texts.has_passkey, other: texts.failed },
};
/** What an answer says is in English. */
const isEnglish = document.documentElement.lang === 'en';
/** A challenge is renewed before the last fifth of its time. */
const share = 0.8;

const capabilities = (await globalThis.PublicKeyCredential?.getClientCapabilities?.().catch(() => null)) ?? {};

/** Whether this device, or a phone beside it, keeps passkeys; else there is a security key at most. */
async function hasPlatform() {
  if (capabilities.passkeyPlatformAuthenticator !== undefined) return capabilities.passkeyPlatformAuthenticator;
  return globalThis.PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable();
}

class Ceremony {
  constructor(form) {
    this.form = form;
    this.kind = form.dataset.passkey;
    this.button = form.querySelector('button');
    this.region = form.querySelector('[role="status"]');
    this.keep(form.dataset.given ? JSON.parse(form.dataset.given) : null);
  }

  say(text) {
    this.region.textContent = text;
  }

  keep(options) {
    this.options = options;
    this.until = options === null ? 0 : Date.now() + (options.timeout ?? 300_000) * share;
  }

  /** Options that are good for a while yet; null when none can be had, which is said. */
  async fresh() {
    if (this.options !== null && Date.now() < this.until) return this.options;
    const fields = 'alone' in this.form.dataset ? [] : [...new FormData(this.form)];
    const named = fields.filter(([name]) => name !== 'credential' && name !== '_csrf');
    const response = await fetch(this.form.dataset.options, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(Object.fromEntries(named)),
    }).catch(() => null);
    const answer = await response?.json().catch(() => null);
    // What is typed on the account page is little; the button is pressed again on the way back.
    if (answer?.error === 'confirmation_required') location.assign('/account/confirm?return_to=%2Faccount%3Fadd%3Dadd-passkey');
    else if (!response?.ok) this.say((isEnglish && answer?.error_description) || (answer ? texts.failed : texts.away));
    this.keep(response?.ok ? answer : null);
    return this.options;
  }

  send(credential) {
    this.form.querySelector('[data-credential]').value = JSON.stringify(credential);
    this.form.requestSubmit();
  }

  /** Fields of another form that belong to this one: they must be filled in first. */
  copyFields() {
    for (const input of this.form.querySelectorAll('input[data-copy]')) {
      const field = document.getElementById(this.form.dataset.with).elements[input.name];
      if (!field.value.trim()) field.value = '';
      if (!field.reportValidity()) return false;
      input.value = field.value;
    }
    return true;
  }

  async ask() {
    if (this.button.getAttribute('aria-busy') || !this.copyFields()) return;
    this.button.setAttribute('aria-busy', 'true');
    this.say('');
    try {
      // What somebody typed may be in the options.
      if (this.kind === 'create') this.keep(null);
      const optionsJSON = await this.fresh();
      if (optionsJSON)
        this.send(await (this.kind === 'create' ? startRegistration({ optionsJSON }) : startAuthentication({ optionsJSON })));
    } catch (error) {
      this.say(words[this.kind][error.name] ?? words[this.kind].other);
      void this.offer();
    }
    this.button.removeAttribute('aria-busy');
  }

  /** Lets the browser offer passkeys where the address is typed, and goes on doing so with new challenges. */
  async offer() {
    if (!('autofill' in this.form.dataset) || !(await browserSupportsWebAuthnAutofill())) return;
    const optionsJSON = await this.fresh();
    if (optionsJSON === null) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.renew(), this.until - Date.now());
    // It ends without a passkey when another ceremony begins, which isn't worth a word.
    startAuthentication({ optionsJSON, useBrowserAutofill: true }).then(
      (credential) => this.send(credential),
      () => {},
    );
  }

  /** Out of sight it waits until somebody looks again. */
  renew() {
    if (this.button.getAttribute('aria-busy')) this.timer = setTimeout(() => this.renew(), 1000);
    else if (document.visibilityState === 'visible') void this.offer();
    else document.addEventListener('visibilitychange', () => this.renew(), { once: true });
  }
}

const query = new URLSearchParams(location.search);

for (const form of document.querySelectorAll('form[data-passkey]')) {
  if (!browserSupportsWebAuthn()) break;
  const elsewhere = form.parentElement.querySelector('[data-passkey-elsewhere]');
  if (elsewhere && (elsewhere.dataset.passkeyElsewhere === 'only' || !capabilities.relatedOrigins)) {
    elsewhere.hidden = false;
  } else {
    const ceremony = new Ceremony(form);
    const label = form.querySelector('[data-without-platform]');
    if (label && !(await hasPlatform())) label.textContent = label.dataset.withoutPlatform;
    form.hidden = false;
    ceremony.button.addEventListener('click', () => ceremony.ask());
    if (form.id === query.get('add')) {
      ceremony.button.focus();
      ceremony.say(texts.go_on);
    }
    // Back from another page, with a challenge that may be over.
    addEventListener('pageshow', ({ persisted }) => persisted && ceremony.offer());
    void ceremony.offer();
  }
  for (const hidden of document.querySelectorAll('[data-with-passkey]')) hidden.hidden = false;
  for (const hint of document.querySelectorAll('[data-without-script]')) hint.hidden = true;
}

// The browser may stop offering a passkey that nobody has here (WebAuthn L3 5.1.10.1).
const unknown = document.querySelector('[data-unknown-passkey]');
if (unknown) {
  const { rpId, unknownPasskey: credentialId } = unknown.dataset;
  globalThis.PublicKeyCredential?.signalUnknownCredential?.({ rpId, credentialId }).catch(() => {});
}

// And keep those alone that are still good, after a change of them (WebAuthn L3 5.1.10.3).
const accepted = document.querySelector('[data-accepted-passkeys]');
if (accepted && ['passkey', 'removed'].includes(query.get('done'))) {
  const { rpId, userId, acceptedPasskeys } = accepted.dataset;
  const allAcceptedCredentialIds = acceptedPasskeys.split(' ').filter(Boolean);
  globalThis.PublicKeyCredential?.signalAllAcceptedCredentials?.({ rpId, userId, allAcceptedCredentialIds }).catch(() => {});
}
