import { downloadsOf } from '../../parts/lists/downloads.js';
import { roleChoices } from '../../parts/forms/choices.js';
import type { Call } from '../../../management/call.js';
import type { LinkButton } from '../../parts/page-parts.js';
import { recordPath, type Presentation } from '../../parts/records/presentation.js';
import type { ResourceObject } from '../../../management/documents.js';
import { may } from '../../parts/records/objects.js';
import { code, json, nothing, number, quiet, stack, state, tags, text, time, web, words, statusStates } from '../../parts/values.js';
import { authenticatorKinds } from '../../../db/tables/authenticators.js';
import { kindLabel, kindsOf, twoStepState } from './authenticators.js';
import { userTabs } from './user-tabs.js';
import { terms } from '../../parts/words.js';

const fullName = (a: ResourceObject['attributes']) => [a['first_name'], a['last_name']].filter(Boolean).join(' ');
const userState = statusStates({ active: ['good', terms.active], blocked: ['bad', 'Blocked'] });

const invited: ReadonlySet<string> = new Set(['email', 'first_name', 'last_name', 'roles']);
const details = 'Further claims';
const address = 'Postal address';

/** What can be done with a user beside the actions of the resource, as far as the reader may. */
function linksOf(record: ResourceObject, call: Call): LinkButton[] {
  const path = recordPath('users', record.id);
  const change = may(call, 'users', 'write');
  const unproven = record.attributes['email_verified'] !== true;
  return [
    ...(change && may(call, 'roles', 'write') ? [{ label: 'Change roles', path: `${path}/roles` }] : []),
    ...(change && unproven ? [{ label: terms.mark_email_as_verified, path: `${path}/verify_email`, dialog: true }] : []),
    ...(may(call, 'sessions', 'write') ? [{ label: terms.end_all_sessions, path: `${path}/end_sessions`, dialog: true }] : []),
  ];
}

export const usersPresentation: Presentation = {
  path: 'users',
  title: terms.users,
  navigation: {
    group: 'People',
    icon: [
      'M7.5 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6z',
      'M2.5 16.5c.4-2.9 2.4-4.5 5-4.5s4.6 1.6 5 4.5',
      'M13 4a2.75 2.75 0 0 1 0 5.25M14.75 12.25c1.5.6 2.5 2 2.75 4.25',
    ],
  },
  one: 'user',
  lead: 'People who can sign in.',
  empty: { title: 'No users yet', text: 'Users appear when they register, sign in through a connection, or are created by you.' },
  columns: [
    {
      label: terms.user,
      sort: 'email',
      value: ({ attributes: a }) => stack(text(a['email']), ...(fullName(a) === '' ? [] : [quiet(fullName(a))])),
    },
    { label: terms.status, value: userState },
    {
      label: 'Email',
      value: (record) =>
        record.attributes['email_verified'] === true ? state('good', terms.verified) : state('warning', terms.not_verified),
    },
    { label: terms.last_sign_in, sort: 'last_login_at', value: (record, { now }) => time(record.attributes['last_login_at'], now) },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: 'Name, email or ID', kind: 'search' },
    { name: 'status', label: terms.status },
    { name: 'role', label: terms.role, choices: roleChoices },
    { name: 'email_verified', label: 'Email verified' },
    { name: 'two_step_enabled', label: 'MFA' },
    {
      name: 'authenticator',
      label: terms.sign_in_method,
      choices: async () => authenticatorKinds.map((value) => ({ value, label: kindLabel(value) })),
    },
  ],
  downloads: downloadsOf('users', 'csv', 'json'),
  selected: {
    acts: ['block', 'unblock', 'delete'],
    link: { name: 'roles', label: 'Assign role', field: terms.role, choices: roleChoices },
  },
  name: (record) => fullName(record.attributes) || words(record.attributes['email']),
  state: userState,
  recordInclude: 'roles',
  details: 'Add details',
  summary: ({ attributes: a }, { now }, included) => [
    {
      label: 'Email',
      value: stack(
        code(a['email'], true),
        a['email_verified'] === true ? state('good', terms.verified) : state('warning', terms.not_verified),
      ),
    },
    { label: terms.name, value: text([a['first_name'], a['middle_name'], a['last_name']].filter(Boolean).join(' ')) },
    { label: terms.roles, value: tags(included.filter((one) => one.type === 'role').map((one) => one.attributes['name'])) },
    { label: terms.last_sign_in, value: a['last_login_at'] === null ? quiet('Never') : time(a['last_login_at'], now) },
    { label: 'Sign-in count', value: number(a['login_count']) },
    ...(a['deletion_due_at'] === null ? [] : [{ label: 'Deletion due', value: time(a['deletion_due_at'], now) }]),
    {
      label: terms.password,
      value:
        a['has_password'] === true
          ? stack(
              text(terms.set),
              ...(a['password_changed_at'] === null ? [] : [time(a['password_changed_at'], now)]),
              ...(a['password_breached_at'] === null ? [] : [state('bad', 'Found in a data breach')]),
            )
          : quiet(`None: signs in ${kindsOf(a).includes('passkey') ? 'with a passkey' : 'through a connection'}`),
    },
    { label: terms.multi_factor_authentication, value: twoStepState(a) },
    { label: terms.sign_in_methods, value: tags(kindsOf(a).map(kindLabel)) },
    { label: 'Phone number', value: text(a['phone_number']) },
    { label: 'Locale, time zone', value: text([a['locale'], a['zoneinfo']].filter(Boolean).join(', ')) },
    { label: 'Picture URL', value: web(a['picture']) },
    { label: 'Website', value: web(a['website']) },
    { label: terms.external_id, value: code(a['external_id'], true) },
    { label: 'Metadata', value: Object.keys(a['metadata'] as object).length === 0 ? nothing : json(a['metadata']) },
    { label: terms.created, value: time(a['created_at'], now) },
  ],
  sections: [
    { title: terms.account },
    { title: details, folded: true },
    { title: address, folded: true },
    { title: 'External ID and metadata', folded: true },
  ],
  fields: [
    {
      name: 'email',
      label: terms.email_address,
      kind: 'email',
      section: terms.account,
      attributes: { maxlength: 254, autocomplete: 'off' },
    },
    {
      name: 'email_verified',
      label: 'Email verified',
      hint: 'Select only if you know that the address belongs to this person. A new address is unverified again.',
      section: terms.account,
    },
    { name: 'first_name', label: terms.first_name, section: terms.account, attributes: { maxlength: 255, autocomplete: 'off' } },
    { name: 'last_name', label: terms.last_name, section: terms.account, attributes: { maxlength: 255, autocomplete: 'off' } },
    {
      name: 'password',
      label: terms.password,
      kind: 'password',
      hint: 'Leave empty to let the person set one by email.',
      on: 'create',
      section: terms.account,
      optional: true,
      attributes: { autocomplete: 'new-password', maxlength: 128 },
    },
    { name: 'roles', label: terms.roles, relationship: 'many', on: 'create', choices: roleChoices, section: terms.account },
    { name: 'middle_name', label: 'Middle name', section: details },
    { name: 'nickname', label: 'Nickname', section: details },
    { name: 'preferred_username', label: 'Preferred username', section: details },
    { name: 'gender', label: 'Gender', section: details },
    { name: 'birthdate', label: 'Date of birth', hint: 'Year, month, day, such as 1990-12-31', section: details },
    { name: 'phone_number', label: 'Phone number', hint: 'With the country code, such as +44 20 7946 0000', section: details },
    { name: 'phone_number_verified', label: 'Phone number verified', hint: 'A new number is unverified again.', section: details },
    { name: 'locale', label: 'Locale', hint: 'A language tag, such as en-GB', section: details },
    { name: 'zoneinfo', label: 'Time zone', hint: 'Continent and city, such as Europe/London', section: details },
    { name: 'picture', label: 'Picture URL', kind: 'url', section: details },
    { name: 'website', label: 'Website', kind: 'url', section: details },
    { name: 'profile', label: 'Profile URL', kind: 'url', section: details },
    { name: 'address.street_address', label: 'Street address', section: address },
    { name: 'address.postal_code', label: 'Postal code', section: address },
    { name: 'address.locality', label: 'City', section: address },
    { name: 'address.region', label: 'Region', section: address },
    { name: 'address.country', label: 'Country', section: address },
    { name: 'external_id', label: terms.external_id, hint: 'This person’s ID in another system.', section: 'External ID and metadata' },
    { name: 'metadata', label: 'Metadata', kind: 'json', hint: 'Any JSON object of at most 16 KiB.', section: 'External ID and metadata' },
  ],
  create: { label: terms.create_user, title: 'Create a user', other: { label: terms.invite_user, path: '/dashboard/users/invite' } },
  remove: {
    label: 'Delete user',
    text: 'The account is deleted with its sessions, tokens, connected accounts and consents. This can’t be undone.',
    typed: (record) => words(record.attributes['email']),
  },
  actions: {
    send_password_reset: { label: 'Send password reset', when: (record) => record.attributes['status'] === 'active', done: 'mail_sent' },
    cancel_deletion: {
      label: 'Cancel deletion',
      when: (record) => record.attributes['deletion_due_at'] !== null,
      confirm: ['The account is kept, and the person is notified by email.'],
      done: 'deletion_cancelled',
    },
    block: {
      label: 'Block user',
      when: (record) => record.attributes['status'] === 'active',
      confirm: ['All sessions end immediately, and the person can’t sign in until you unblock the account.'],
      danger: true,
      done: 'blocked',
    },
    forget_devices: {
      label: 'Forget remembered devices',
      when: (record) => record.attributes['two_step_enabled'] === true || kindsOf(record.attributes).length > 0,
      confirm: [
        'This person’s browsers ask for the second factor again at the next sign-in. Use it when a computer or phone was lost. Sessions stay active: end them as well if someone else could be signed in.',
      ],
      danger: true,
      done: 'devices_forgotten',
      leadsTo: ({ id }) => `${recordPath('users', id)}/authenticators`,
    },
    reset_authenticators: {
      label: 'Reset sign-in methods',
      when: (record) => kindsOf(record.attributes).length > 0,
      confirm: [
        'For people who lost everything: passkeys, authenticator apps and recovery codes are permanently removed, all sessions and tokens end, and the person is notified by email.',
        'Verify the person’s identity first. Until they set up something new, the password alone is enough to sign in. Without a password, they get an email with a link to set one.',
      ],
      danger: true,
      guarded: true,
      done: 'authenticators_reset',
      leadsTo: ({ id }) => `${recordPath('users', id)}/authenticators`,
    },
    unblock: { label: 'Unblock', when: (record) => record.attributes['status'] === 'blocked', done: 'unblocked' },
  },
  tabs: userTabs,
  links: (record, { req }) => ({ links: linksOf(record, req.call), posts: [] }),
};

/** A user who chooses the password by mail: created and told in one. */
export const invitationPresentation: Presentation = {
  ...usersPresentation,
  fields: usersPresentation.fields?.filter(({ name }) => invited.has(name)) ?? [],
  create: {
    label: 'Send invitation',
    title: 'Invite a user',
    lead: 'The account is created now, without a password. The person gets an email with a link, valid for a day, to set one; this also verifies the address. To resend it, send a password reset from the user’s page.',
    path: 'invite',
    done: 'invited',
    followedBy: 'send_password_reset',
  },
};
