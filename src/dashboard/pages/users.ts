import { roleChoices } from '../choices.js';
import type { Call } from '../../management/call.js';
import { actOnRecord } from '../../management/operations.js';
import type { LinkButton } from '../page-parts.js';
import { recordPath, type Presentation } from '../presentation.js';
import type { ResourceObject } from '../../management/documents.js';
import { may, resourceOf } from '../resource-objects.js';
import { code, json, number, quiet, stack, state, tags, text, time, web, words, statusStates } from '../values.js';
import { authenticatorKinds } from '../../db/tables/authenticators.js';
import { kindLabel, kindsOf, twoStepState } from './authenticators.js';
import { userTabs } from './user-tabs.js';

const fullName = (a: ResourceObject['attributes']) => [a['first_name'], a['last_name']].filter(Boolean).join(' ');
const userState = statusStates({ active: ['good', 'Active'], blocked: ['bad', 'Blocked'] });

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
    ...(change && unproven ? [{ label: 'Mark address as proven', path: `${path}/verify_email`, dialog: true }] : []),
    ...(may(call, 'sessions', 'write') ? [{ label: 'End all sessions', path: `${path}/end_sessions`, dialog: true }] : []),
  ];
}

/** People who can sign in. */
export const users: Presentation = {
  path: 'users',
  title: 'Users',
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
  empty: { title: 'No users yet', text: 'People come here by registering, through a connection, or because you create them.' },
  columns: [
    {
      label: 'User',
      sort: 'email',
      value: ({ attributes: a }) => stack(text(a['email']), ...(fullName(a) === '' ? [] : [quiet(fullName(a))])),
    },
    { label: 'Status', value: userState },
    {
      label: 'Email',
      value: (record) => (record.attributes['email_verified'] === true ? state('good', 'Verified') : state('warning', 'Not verified')),
    },
    { label: 'Last sign-in', sort: 'last_login_at', value: (record, { now }) => time(record.attributes['last_login_at'], now) },
    { label: 'Created', sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: 'Email or name begins with', kind: 'search' },
    { name: 'status', label: 'Status' },
    { name: 'role', label: 'Role', choices: roleChoices },
    { name: 'email_verified', label: 'Email verified' },
    { name: 'two_step_enabled', label: 'Two-step sign-in' },
    {
      name: 'authenticator',
      label: 'Signs in with',
      choices: async () => authenticatorKinds.map((value) => ({ value, label: kindLabel(value) })),
    },
  ],
  name: (record) => fullName(record.attributes) || words(record.attributes['email']),
  state: userState,
  recordInclude: 'roles',
  summary: ({ attributes: a, id }, { now }, included) => [
    {
      label: 'Email',
      value: stack(code(a['email'], true), a['email_verified'] === true ? state('good', 'Verified') : state('warning', 'Not verified')),
    },
    { label: 'Name', value: text([a['first_name'], a['middle_name'], a['last_name']].filter(Boolean).join(' ')) },
    { label: 'Roles', value: tags(included.filter((one) => one.type === 'role').map((one) => one.attributes['name'])) },
    { label: 'Last sign-in', value: time(a['last_login_at'], now) },
    { label: 'Sign-ins', value: number(a['login_count']) },
    {
      label: 'Password',
      value:
        a['has_password'] === true
          ? stack(text('Set'), time(a['password_changed_at'], now))
          : quiet(`None: signs in ${kindsOf(a).includes('passkey') ? 'with a passkey' : 'through a connection'}`),
    },
    { label: 'Two-step sign-in', value: twoStepState(a) },
    { label: 'Sign-in methods', value: tags(kindsOf(a).map(kindLabel)) },
    { label: 'Phone', value: text(a['phone_number']) },
    { label: 'Language, time zone', value: text([a['locale'], a['zoneinfo']].filter(Boolean).join(', ')) },
    { label: 'Picture', value: web(a['picture']) },
    { label: 'Website', value: web(a['website']) },
    { label: 'External id', value: code(a['external_id'], true) },
    { label: 'Metadata', value: json(a['metadata']) },
    { label: 'Created', value: time(a['created_at'], now) },
    { label: 'Id', value: code(id, true) },
  ],
  sections: [
    { title: 'Account' },
    { title: details, folded: true },
    { title: address, folded: true },
    { title: 'For your systems', folded: true },
  ],
  fields: [
    { name: 'email', label: 'Email address', kind: 'email', section: 'Account', attributes: { maxlength: 254, autocomplete: 'off' } },
    {
      name: 'email_verified',
      label: 'The address is proven',
      hint: 'Tick it only if you know that the address belongs to this person. Another address is unproven again.',
      section: 'Account',
    },
    { name: 'first_name', label: 'First name', section: 'Account', attributes: { maxlength: 255, autocomplete: 'off' } },
    { name: 'last_name', label: 'Last name', section: 'Account', attributes: { maxlength: 255, autocomplete: 'off' } },
    {
      name: 'password',
      label: 'Password',
      kind: 'password',
      hint: 'Leave it empty to let the person choose one by mail.',
      on: 'create',
      section: 'Account',
      optional: true,
      attributes: { autocomplete: 'new-password', maxlength: 128 },
    },
    { name: 'roles', label: 'Roles', relationship: 'many', on: 'create', choices: roleChoices, section: 'Account' },
    { name: 'middle_name', label: 'Middle name', section: details },
    { name: 'nickname', label: 'Nickname', section: details },
    { name: 'preferred_username', label: 'User name', section: details },
    { name: 'gender', label: 'Gender', section: details },
    { name: 'birthdate', label: 'Date of birth', hint: 'Year, month, day: 1990-12-31', section: details },
    { name: 'phone_number', label: 'Phone number', hint: 'With the country code: +44 20 7946 0000', section: details },
    { name: 'phone_number_verified', label: 'The phone number is proven', hint: 'Another number is unproven again.', section: details },
    { name: 'locale', label: 'Language', hint: 'A language tag: en-GB', section: details },
    { name: 'zoneinfo', label: 'Time zone', hint: 'Continent and city: Europe/London', section: details },
    { name: 'picture', label: 'Picture', kind: 'url', section: details },
    { name: 'website', label: 'Website', kind: 'url', section: details },
    { name: 'profile', label: 'Profile page', kind: 'url', section: details },
    { name: 'address.street_address', label: 'Street and number', section: address },
    { name: 'address.postal_code', label: 'Postal code', section: address },
    { name: 'address.locality', label: 'Town', section: address },
    { name: 'address.region', label: 'Region', section: address },
    { name: 'address.country', label: 'Country', section: address },
    { name: 'external_id', label: 'External id', hint: 'The id of this person in another system.', section: 'For your systems' },
    { name: 'metadata', label: 'Metadata', kind: 'json', hint: 'Any JSON object of at most 16 KiB.', section: 'For your systems' },
  ],
  create: { label: 'Create user', title: 'Create a user', other: { label: 'Invite user', path: '/dashboard/users/invite' } },
  remove: {
    label: 'Delete user',
    text: 'The account goes with its sessions, tokens, connected accounts and consents. This can not be undone.',
    typed: (record) => words(record.attributes['email']),
  },
  actions: {
    send_password_reset: { label: 'Send password reset', when: (record) => record.attributes['status'] === 'active', done: 'mail_sent' },
    block: {
      label: 'Block user',
      when: (record) => record.attributes['status'] === 'active',
      confirm: ['All sessions end at once, and the person can not sign in until you unblock the account.'],
      danger: true,
      done: 'blocked',
    },
    forget_devices: {
      label: 'Forget remembered browsers',
      when: (record) => record.attributes['two_step_enabled'] === true || kindsOf(record.attributes).length > 0,
      confirm: [
        'Every browser that skips the second step of this person takes it again at the next sign-in. Do it when a computer or phone was lost. Sessions go on: end them as well if somebody else may be signed in.',
      ],
      danger: true,
      done: 'devices_forgotten',
      leadsTo: ({ id }) => `${recordPath('users', id)}/authenticators`,
    },
    reset_authenticators: {
      label: 'Reset sign-in methods',
      when: (record) => kindsOf(record.attributes).length > 0,
      confirm: [
        'For somebody who has lost everything: passkeys, authenticator apps and recovery codes are removed for good, all sessions and tokens end, and the person is told by mail.',
        'Be sure whom you talk to first. From then on the password alone signs in, until the person sets up something new; without a password a mail with a link to choose one goes out.',
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
export const invitation: Presentation = {
  ...users,
  fields: users.fields?.filter(({ name }) => invited.has(name)) ?? [],
  create: {
    label: 'Send invitation',
    title: 'Invite a user',
    lead: 'The account is made now, without a password. A mail with a link, good for a day, lets the person choose one, which proves the address as well. Send a password reset from the account’s page to send it again.',
    path: 'invite',
    done: 'invited',
    finish: async (call, id) => void (await actOnRecord(call, resourceOf(call, 'users'), id, 'send_password_reset')),
  },
};
