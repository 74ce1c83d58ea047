import { errorTexts } from '../../../http/pages/error-texts.js';
import { timeWords } from '../../../lib/date-words.js';
import { named, own } from '../../../lib/named.js';
import type { SecurityEventReason } from '../../../lib/security-event.js';
import type { SecurityEventName } from '../../../lib/security-events.js';
import { listed } from '../texts.js';
import type { Tone } from '../tone.js';
import { inWords } from '../values.js';
import { terms } from '../words.js';
import { authorizationSentences } from './authorization-sentences.js';
import { organizationSentences } from './organization-sentences.js';
import type { ActivityEntry } from './entry.js';
import type { Names } from './names.js';
import { operationWords } from './operations.js';
import { clientReasons } from './client-reasons.js';
import { tokenSentences } from './token-sentences.js';
import { providerReasons } from './provider-reasons.js';

/** What happened, how much it matters, and what to do about it. */
export type Sentence = { readonly text: string; readonly tone: Tone; readonly fix: string | null };

/** What a sentence is made of; `by`: " by Ada Lovelace", empty where the page is about whoever it was. */
type Happening = { readonly entry: ActivityEntry; readonly names: Names; readonly by: string };
type Template = readonly [text: string | ((happening: Happening) => string), tone: Tone, fix?: string];

const methods = named<string>({
  pwd: 'password',
  otp: 'code',
  pop: 'passkey',
  password: 'password',
  email: 'code by email',
  totp: 'authenticator app',
  recovery_code: 'recovery code',
  passkey: 'passkey',
  device: 'remembered browser',
});

/** How somebody proved who they are: " with password and authenticator app". */
function withMethods({ entry: { detail }, names }: Happening): string {
  const connection = { type: 'connection', id: (detail['connection_id'] as string | undefined) ?? null, display: null };
  const proofs = (detail['methods'] ?? detail['amr'] ?? []) as readonly string[];
  const words = proofs.flatMap((method) => (method === 'provider' ? (names.of(connection) ?? 'a connection') : (methods[method] ?? [])));
  return words.length === 0 ? '' : ` with ${listed(words)}`;
}

const kinds = named<string>({ passkey: 'Passkey', totp: terms.authenticator_app, recovery_codes: terms.recovery_codes });
const kindOf = ({ entry: { detail } }: Happening) => kinds[String(detail['kind'])] ?? terms.sign_in_method;
const rolesOf = ({ entry: { detail } }: Happening) => (Array.isArray(detail['roles']) ? `: ${listed(detail['roles'] as string[], 5)}` : '');
const targetOf = ({ entry: { target }, names }: Happening, none: string) => names.of(target) ?? none;

/** Until when a lock holds, as far as the entry says. */
const until = ({ entry: { detail } }: Happening, since: string) =>
  typeof detail['locked_until'] === 'string' ? `until ${timeWords(detail['locked_until'])}` : `after too many ${since}`;

const secondSteps = named<string>({
  totp: 'Wrong code from the authenticator app',
  email: 'Wrong code from the email',
  recovery_code: 'Wrong recovery code',
  passkey: 'Passkey not accepted as second factor',
});

const ask = terms.ask_to_start_again;
const administrators = 'Somebody with this permission has to do it, or give it to them by a role.';

/** Why something was refused, as the sentence of the whole. */
const reasons: Readonly<Record<SecurityEventReason, Template>> = {
  invalid_credentials: ['Wrong password', 'warning', 'If they have forgotten it, send a password reset.'],
  invalid_code: ['Wrong code', 'warning', 'Only the latest email has the code that counts.'],
  second_step: [
    ({ entry: { detail } }) => secondSteps[String(detail['method'])] ?? 'Wrong second factor',
    'warning',
    'If they have lost it, reset their sign-in methods.',
  ],
  passkey_unknown: ['Unknown passkey', 'warning', 'It was removed here, but is still on the device: sign in another way and add it again.'],
  passkey_refused: ['Passkey not accepted', 'warning', ask],
  passkey_counter: ['Passkey refused: it looks copied', 'bad', 'Remove this passkey, and have the person add a new one.'],
  code_expired: ['Code expired', 'warning', ask],
  budget_used_up: ['Code not checked: too many wrong ones in this environment', 'bad', 'Codes are checked again within the hour.'],
  account_blocked: ['Refused: the account is blocked', 'bad', 'Unblock the user to let them sign in.'],
  password_breached: [
    'Refused: the password is known from a data breach',
    'warning',
    'Send a password reset, if they have lost the email.',
  ],
  account_locked: ['Password not checked: the account is locked', 'bad', 'The lock ends automatically. A password reset ends it at once.'],
  account_changed: ['Refused: the account was changed during the sign-in', 'warning', ask],
  sign_in_expired: ['Refused: the sign-in took too long', 'warning', ask],
  connection_required: [
    'Refused: this address signs in through its connection alone',
    'warning',
    'Have the person use the button of the connection.',
  ],
  ...providerReasons,
  ...clientReasons,
  registration_disabled: [
    'Refused: new accounts are not allowed',
    'warning',
    'Create the user, or allow registration through the connection.',
  ],
  not_found: ['Refused: the connection is disabled or gone', 'warning', 'Enable the connection, if people should sign in through it.'],
  insufficient_scope: ['A permission is missing', 'bad', administrators],
  insufficient_user_authentication: [
    'A stronger or more recent sign-in is required',
    'bad',
    'Have them sign in again with a second factor.',
  ],
  scope_escalation: ['It reaches further than the person who tried it', 'bad', 'Someone with those permissions has to do it.'],
  operators_only: ['Only operators of the service may do this', 'bad', 'Do it in the default environment.'],
  system_record: ['It comes with the service and stays as it is', 'bad'],
  blocked_address: ['Delivery not sent: the address is blocked', 'bad', 'Give the webhook an address on the public internet.'],
  configuration: ['Replaced by the configuration of the service', 'quiet'],
  too_many_to_list: ['Many more within the same minute', 'warning', 'The log of the service has a line for each.'],
};

/** The sentence of the reason, else the one given. */
const refused =
  (otherwise: string): ((happening: Happening) => Sentence) =>
  (happening) => {
    const { reason } = happening.entry;
    const [text, tone, fix = null] = reasonOf(reason) ?? [own(errorTexts, reason ?? '') ?? otherwise, 'warning' as const];
    return { text: textOf(text, happening), tone, fix };
  };

const reasonOf = (reason: string | null) => own(reasons, reason ?? '');
const textOf = (text: Template[0], happening: Happening) => (typeof text === 'string' ? text : text(happening));
const withBy = (text: string) => ({ by }: Happening) => `${text}${by}`; // prettier-ignore

/** What is an operation too, in its words. */
const ofOperation =
  (operation: string): ((happening: Happening) => Sentence) =>
  ({ by }) => {
    const { done, tone } = operationWords(operation) ?? { done: inWords(operation), tone: 'quiet' as const };
    return { text: `${done}${by}`, tone, fix: null };
  };
const stolen = 'It may have been stolen, or the application sends requests twice. Find out which.';

/** The sentence of each security event. Those of what was refused begin with its reason. */
const events: Readonly<Record<SecurityEventName, Template | ((happening: Happening) => Sentence)>> = {
  'login.succeeded': [
    (happening) => `Signed in${withMethods(happening)}${happening.entry.detail['new_device'] === true ? ' in a new browser' : ''}`,
    'good',
  ],
  'session.confirmed': [(happening) => `Confirmed it’s them${withMethods(happening)}`, 'good'],
  'login.failed': refused('Sign-in refused'),
  'approval.decided': [
    ({ entry }) => (entry.detail['decision'] === 'approved' ? 'Approved what a client asked' : 'Refused what a client asked'),
    'quiet',
  ],
  'provider_token.handed_out': ['Token at a provider given to a client', 'quiet'],
  'administrator.new_device': [
    'Administrator signed in with a new browser',
    'warning',
    'Ask them whether it was them. If not, end all sessions and send a password reset.',
  ],
  'account.locked': [
    (happening) =>
      happening.entry.reason === 'second_step'
        ? `Second factor locked ${until(happening, 'wrong codes')}`
        : `Locked ${until(happening, 'wrong passwords')}`,
    'bad',
    'The lock ends automatically. After wrong passwords, a password reset ends it at once.',
  ],
  'password.changed': ['Password changed', 'quiet'],
  'password.breached': [
    'Password found in a data breach',
    'bad',
    'They were told by email. Send a password reset if they don’t change it.',
  ],
  'passcode.budget_half_used': [
    'Half of the wrong codes that an hour allows',
    'warning',
    'Somebody may be guessing: look where the sign-ins that fail come from.',
  ],
  'passcode.budget_used_up': [
    'No code is checked until the hour is over',
    'bad',
    'Somebody is guessing: look where the sign-ins that fail come from.',
  ],
  'recovery.requested': ['Password reset requested', 'quiet'],
  'recovery.failed': (happening) => {
    const { text, ...sentence } = refused('Refused')(happening);
    return { ...sentence, text: `Password reset failed: ${text.charAt(0).toLowerCase()}${text.slice(1)}` };
  },
  'address.proven': [({ by }) => `Email address verified${by}`, 'good'],
  'address.changed': ['Email address changed', 'warning', 'If they didn’t do this, write to the address of before and end all sessions.'],
  'account.deletion_requested': ['Deletion of the account requested', 'warning', 'Signing in before it is due keeps the account.'],
  'account.deletion_cancelled': [terms.deletion_of_the_account_canceled, 'quiet'],
  'account.deleted': ['Account deleted, as its user asked', 'quiet'],
  'recovery.completed': ['Password reset; all sessions ended', 'quiet'],
  'identity.linked': [(happening) => `Account connected: ${targetOf(happening, 'a provider')}`, 'quiet'],
  'identity.link_failed': (happening) => {
    const { text, ...sentence } = refused('Refused')(happening);
    return { ...sentence, text: `Account not connected: ${text.charAt(0).toLowerCase()}${text.slice(1)}` };
  },
  'identity.unlinked': [(happening) => `Account disconnected: ${targetOf(happening, 'a provider')}${happening.by}`, 'quiet'],
  'authenticator.created': [(happening) => `${kindOf(happening)} added`, 'quiet'],
  'authenticator.removed': [(happening) => `${kindOf(happening)} removed${happening.by}`, 'warning'],
  'authenticator.reset': ofOperation('user.authenticators_reset'),
  'authenticator.imported': [(happening) => `${kindOf(happening)} imported${happening.by}`, 'quiet'],
  'two_step.changed': [
    ({ entry: { detail } }) => `${terms.multi_factor_authentication} turned ${detail['enabled'] === true ? 'on' : 'off'}`,
    'quiet',
  ],
  'consent.given': [(happening) => `Access allowed to ${targetOf(happening, 'a client')}`, 'quiet'],
  'consent.denied': [(happening) => `Access not allowed to ${targetOf(happening, 'a client')}`, 'warning'],
  'consent.withdrawn': [({ by }) => `Consent withdrawn${by}`, 'warning'],
  ...authorizationSentences,
  'device.approved': ['Device allowed to sign in', 'good'],
  'device.denied': ['Device not allowed to sign in', 'warning'],
  'device.guesses_refused': ['Too many wrong device codes', 'warning', 'They can try again in ten minutes.'],
  'role.assigned': [(happening) => `Roles given${rolesOf(happening)}${happening.by}`, 'quiet'],
  'role.withdrawn': [(happening) => `Roles taken${rolesOf(happening)}${happening.by}`, 'warning'],
  'permission.changed': [withBy('Permissions changed'), 'quiet'],
  'signing_key.changed': [withBy('Signing keys changed'), 'quiet'],
  'user_export.taken': [withBy('All users exported'), 'warning'],
  'client_secret.rotated': ofOperation('client.secret_rotated'),
  'client_credential.changed': [withBy('Client credentials changed'), 'quiet'],
  'client_tokens.revoked': ofOperation('client.tokens_revoked'),
  'security_setting.changed': [withBy('Security settings changed'), 'quiet'],
  'config.applied': ofOperation('config.applied'),
  'secret_key.changed': [withBy('The secret key of the service changed'), 'quiet'],
  'client.authentication_failed': refused('Client authentication failed'),
  'authorization_code.reused': ['Authorization code used twice: its tokens were revoked', 'bad', stolen],
  'refresh_token.reused': ['Refresh token used twice: all tokens of the sign-in were revoked', 'bad', stolen],
  'token.impersonated': [({ by }) => `Token in the name of the person issued${by}`, 'quiet'],
  ...tokenSentences,
  'assertion.refused': refused('Identity assertion refused'),
  'assertion.replayed': ['Identity assertion used twice', 'bad', stolen],
  'signal.refused': refused('Signal of a provider refused'),
  'client.removed_unused': [withBy('Unused client removed'), 'quiet'],
  'webhook.target_blocked': refused('Delivery not sent'),
  ...organizationSentences,
  'management.denied': (happening) => denied(happening),
};

function denied({ entry, names }: Happening): Sentence {
  const tried = operationWords(entry.operation ?? '')?.tried ?? 'do this';
  const [why, tone, fix = null] = reasonOf(entry.reason) ?? [null, 'bad' as const];
  const text = `${names.of(entry.actor) ?? terms.somebody} was not allowed to ${tried}`;
  return { text, tone, fix: [typeof why === 'string' && `${why}.`, fix].filter(Boolean).join(' ') || null };
}

/**
 * What happened, in words: with present names, or those of then.
 * @param subject the id that the page is about: what it did itself says so nowhere
 */
export function activitySentence(entry: ActivityEntry, names: Names, subject: string | null = null): Sentence {
  const { event, operation, actor, outcome } = entry;
  const doer = actor.type === 'system' ? 'the service' : actor.type === 'anonymous' ? null : names.of(actor);
  const happening: Happening = { entry, names, by: doer === null || (actor.id !== null && actor.id === subject) ? '' : ` by ${doer}` };
  if (outcome === 'denied' && operation !== null && (event === null || event === 'management.denied')) return denied(happening);
  if (operation !== null && operationWords(operation) !== null) return ofOperation(operation)(happening);
  if (event === null || !Object.hasOwn(events, event)) return { text: inWords(event ?? operation ?? ''), tone: 'quiet', fix: null };
  const found = events[event];
  if (typeof found === 'function') return found(happening);
  return { text: textOf(found[0], happening), tone: found[1], fix: found[2] ?? null };
}
