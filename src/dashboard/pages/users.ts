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
import { fill, hints, nouns, sentences, terms } from '../words.js';

const fullName = (a: ResourceObject['attributes']) => [a['first_name'], a['last_name']].filter(Boolean).join(' ');
const userState = statusStates({ active: ['good', terms.active], blocked: ['bad', terms.blocked] });

const invited: ReadonlySet<string> = new Set(['email', 'first_name', 'last_name', 'roles']);
const details = terms.further_claims;
const address = terms.postal_address;

/** What can be done with a user beside the actions of the resource, as far as the reader may. */
function linksOf(record: ResourceObject, call: Call): LinkButton[] {
  const path = recordPath('users', record.id);
  const change = may(call, 'users', 'write');
  const unproven = record.attributes['email_verified'] !== true;
  return [
    ...(change && may(call, 'roles', 'write') ? [{ label: terms.change_roles, path: `${path}/roles` }] : []),
    ...(change && unproven ? [{ label: terms.mark_email_as_verified, path: `${path}/verify_email`, dialog: true }] : []),
    ...(may(call, 'sessions', 'write') ? [{ label: terms.end_all_sessions, path: `${path}/end_sessions`, dialog: true }] : []),
  ];
}

/** People who can sign in. */
export const users: Presentation = {
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
  one: nouns.user,
  lead: sentences.users_lead,
  empty: { title: terms.no_users_yet, text: sentences.people_come_here_by_registering },
  columns: [
    {
      label: terms.user,
      sort: 'email',
      value: ({ attributes: a }) => stack(text(a['email']), ...(fullName(a) === '' ? [] : [quiet(fullName(a))])),
    },
    { label: terms.status, value: userState },
    {
      label: terms.email,
      value: (record) =>
        record.attributes['email_verified'] === true ? state('good', terms.verified) : state('warning', terms.not_verified),
    },
    { label: terms.last_sign_in, sort: 'last_login_at', value: (record, { now }) => time(record.attributes['last_login_at'], now) },
    { label: terms.created, sort: 'created_at', value: (record, { now }) => time(record.attributes['created_at'], now) },
  ],
  filters: [
    { name: 'search', label: terms.email_or_name_begins_with, kind: 'search' },
    { name: 'status', label: terms.status },
    { name: 'role', label: terms.role, choices: roleChoices },
    { name: 'email_verified', label: terms.email_verified },
    { name: 'two_step_enabled', label: terms.multi_factor_authentication },
    {
      name: 'authenticator',
      label: terms.sign_in_method,
      choices: async () => authenticatorKinds.map((value) => ({ value, label: kindLabel(value) })),
    },
  ],
  name: (record) => fullName(record.attributes) || words(record.attributes['email']),
  state: userState,
  recordInclude: 'roles',
  summary: ({ attributes: a, id }, { now }, included) => [
    {
      label: terms.email,
      value: stack(
        code(a['email'], true),
        a['email_verified'] === true ? state('good', terms.verified) : state('warning', terms.not_verified),
      ),
    },
    { label: terms.name, value: text([a['first_name'], a['middle_name'], a['last_name']].filter(Boolean).join(' ')) },
    { label: terms.roles, value: tags(included.filter((one) => one.type === 'role').map((one) => one.attributes['name'])) },
    { label: terms.last_sign_in, value: time(a['last_login_at'], now) },
    { label: terms.sign_in_count, value: number(a['login_count']) },
    {
      label: terms.password,
      value:
        a['has_password'] === true
          ? stack(text(terms.set), time(a['password_changed_at'], now))
          : quiet(
              fill(terms.none_signs_in, {
                way: kindsOf(a).includes('passkey') ? terms.with_a_passkey : terms.through_a_connection,
              }),
            ),
    },
    { label: terms.multi_factor_authentication, value: twoStepState(a) },
    { label: terms.sign_in_methods, value: tags(kindsOf(a).map(kindLabel)) },
    { label: terms.phone_number, value: text(a['phone_number']) },
    { label: terms.locale_time_zone, value: text([a['locale'], a['zoneinfo']].filter(Boolean).join(', ')) },
    { label: terms.picture_url, value: web(a['picture']) },
    { label: terms.website, value: web(a['website']) },
    { label: terms.external_id, value: code(a['external_id'], true) },
    { label: terms.metadata, value: json(a['metadata']) },
    { label: terms.created, value: time(a['created_at'], now) },
    { label: terms.id, value: code(id, true) },
  ],
  sections: [
    { title: terms.account },
    { title: details, folded: true },
    { title: address, folded: true },
    { title: terms.external_id_and_metadata, folded: true },
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
      label: terms.email_verified,
      hint: hints.email_verified,
      section: terms.account,
    },
    { name: 'first_name', label: terms.first_name, section: terms.account, attributes: { maxlength: 255, autocomplete: 'off' } },
    { name: 'last_name', label: terms.last_name, section: terms.account, attributes: { maxlength: 255, autocomplete: 'off' } },
    {
      name: 'password',
      label: terms.password,
      kind: 'password',
      hint: hints.password,
      on: 'create',
      section: terms.account,
      optional: true,
      attributes: { autocomplete: 'new-password', maxlength: 128 },
    },
    { name: 'roles', label: terms.roles, relationship: 'many', on: 'create', choices: roleChoices, section: terms.account },
    { name: 'middle_name', label: terms.middle_name, section: details },
    { name: 'nickname', label: terms.nickname, section: details },
    { name: 'preferred_username', label: terms.preferred_username, section: details },
    { name: 'gender', label: terms.gender, section: details },
    { name: 'birthdate', label: terms.date_of_birth, hint: hints.birthdate, section: details },
    { name: 'phone_number', label: terms.phone_number, hint: hints.phone_number, section: details },
    { name: 'phone_number_verified', label: terms.phone_number_verified, hint: hints.phone_number_verified, section: details },
    { name: 'locale', label: terms.locale, hint: hints.locale, section: details },
    { name: 'zoneinfo', label: terms.time_zone, hint: hints.zoneinfo, section: details },
    { name: 'picture', label: terms.picture_url, kind: 'url', section: details },
    { name: 'website', label: terms.website, kind: 'url', section: details },
    { name: 'profile', label: terms.profile_url, kind: 'url', section: details },
    { name: 'address.street_address', label: terms.street_address, section: address },
    { name: 'address.postal_code', label: terms.postal_code, section: address },
    { name: 'address.locality', label: terms.city, section: address },
    { name: 'address.region', label: terms.region, section: address },
    { name: 'address.country', label: terms.country, section: address },
    { name: 'external_id', label: terms.external_id, hint: hints.external_id, section: terms.external_id_and_metadata },
    { name: 'metadata', label: terms.metadata, kind: 'json', hint: hints.metadata, section: terms.external_id_and_metadata },
  ],
  create: { label: terms.create_user, title: terms.create_a_user, other: { label: terms.invite_user, path: '/dashboard/users/invite' } },
  remove: {
    label: terms.delete_user,
    text: sentences.the_account_goes_with_its,
    typed: (record) => words(record.attributes['email']),
  },
  actions: {
    send_password_reset: {
      label: terms.send_password_reset,
      when: (record) => record.attributes['status'] === 'active',
      done: 'mail_sent',
    },
    block: {
      label: terms.block_user,
      when: (record) => record.attributes['status'] === 'active',
      confirm: [sentences.all_sessions_end_at_once],
      danger: true,
      done: 'blocked',
    },
    forget_devices: {
      label: terms.forget_remembered_devices,
      when: (record) => record.attributes['two_step_enabled'] === true || kindsOf(record.attributes).length > 0,
      confirm: [sentences.every_browser_that_skips_the],
      danger: true,
      done: 'devices_forgotten',
      leadsTo: ({ id }) => `${recordPath('users', id)}/authenticators`,
    },
    reset_authenticators: {
      label: terms.reset_sign_in_methods,
      when: (record) => kindsOf(record.attributes).length > 0,
      confirm: [sentences.for_somebody_who_has_lost, sentences.be_sure_whom_you_talk],
      danger: true,
      guarded: true,
      done: 'authenticators_reset',
      leadsTo: ({ id }) => `${recordPath('users', id)}/authenticators`,
    },
    unblock: { label: terms.unblock, when: (record) => record.attributes['status'] === 'blocked', done: 'unblocked' },
  },
  tabs: userTabs,
  links: (record, { req }) => ({ links: linksOf(record, req.call), posts: [] }),
};

/** A user who chooses the password by mail: created and told in one. */
export const invitation: Presentation = {
  ...users,
  fields: users.fields?.filter(({ name }) => invited.has(name)) ?? [],
  create: {
    label: terms.send_invitation,
    title: terms.invite_a_user,
    lead: sentences.the_account_is_made_now,
    path: 'invite',
    done: 'invited',
    finish: async (call, id) => void (await actOnRecord(call, resourceOf(call, 'users'), id, 'send_password_reset')),
  },
};
