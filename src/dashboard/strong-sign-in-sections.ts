import { requiredAcrs, secondFactorPolicies } from '../db/tables/environments.js';
import { countFactors, type FactorCount } from '../db/tables/factor_counts.js';
import { acrChoices } from './choices.js';
import type { Choice } from './page-parts.js';
import type { FieldSpec, ViewContext } from './presentation.js';
import { may } from './resource-objects.js';
import { figure } from './values.js';
import { fill, hints, sentences, terms } from './words.js';

const policyWords: Record<(typeof secondFactorPolicies)[number], { readonly label: string; readonly hint: string }> = {
  off: { label: terms.off, hint: hints.those_that_people_have_are },
  optional: { label: terms.optional, hint: hints.people_add_a_passkey_or },
  required: { label: terms.required_for_everyone, hint: hints.who_has_none_sets_one },
  required_for_management: {
    label: terms.required_for_administrators,
    hint: hints.people_who_hold_a_permission,
  },
};

const wouldEnrol = ({ people, without }: FactorCount) =>
  without === 0
    ? sentences.all_of_them_have_one
    : fill(sentences.without_of_people_people_would, { without: figure(without), people: figure(people) });

/** The policies, each with whom it would ask to enrol, as far as the reader may see people. */
async function policyChoices({ req }: ViewContext): Promise<Choice[]> {
  const counts = may(req.call, 'users', 'read') ? await countFactors(req.call.ctx.scope) : null;
  const beside: Partial<Record<(typeof secondFactorPolicies)[number], string>> = counts
    ? { required: wouldEnrol(counts.everybody), required_for_management: wouldEnrol(counts.management) }
    : {};
  return secondFactorPolicies.map((value) => {
    const { label, hint } = policyWords[value];
    return { value, label, hint: `${hint}${beside[value] ?? ''}` };
  });
}

/** The settings of passkeys, second factors and confirmation, as sections of the settings page. */
export const strongSignInSections: readonly {
  readonly name: string;
  readonly title: string;
  readonly text: string;
  readonly fields: readonly FieldSpec[];
}[] = [
  {
    name: 'passkeys',
    title: terms.passkeys_and_one_time_codes,
    text: sentences.what_people_can_sign_in,
    fields: [
      { name: 'passkeys_enabled', label: terms.passkeys, hint: hints.passkeys_enabled },
      {
        name: 'passkey_rp_id',
        label: terms.relying_party_id,
        hint: hints.passkey_rp_id,
        attributes: { maxlength: 253, spellcheck: 'false', autocapitalize: 'none' },
      },
      { name: 'totp_enabled', label: terms.authenticator_apps, hint: hints.totp_enabled },
      { name: 'email_code_sign_in_enabled', label: terms.email_code_sign_in, hint: hints.email_code_sign_in_enabled },
      {
        name: 'email_second_factor_enabled',
        label: terms.email_code_as_second_factor,
        hint: hints.email_second_factor_enabled,
      },
      { name: 'new_device_mail', label: terms.new_device_notification, hint: hints.new_device_mail },
    ],
  },
  {
    name: 'second_factor',
    title: terms.multi_factor_authentication,
    text: sentences.who_has_to_have_a,
    fields: [
      { name: 'second_factor_policy', label: terms.multi_factor_policy, kind: 'radios', choices: policyChoices },
      {
        name: 'second_factor_grace_lifetime',
        label: terms.enrolment_grace_period,
        hint: hints.second_factor_grace_lifetime,
      },
      {
        name: 'management_required_acr',
        label: terms.required_authentication_context_for_management,
        hint: hints.management_required_acr,
        choices: async () => acrChoices(requiredAcrs),
      },
      {
        name: 'confirmation_lifetime',
        label: terms.re_authentication_lifetime,
        hint: hints.confirmation_lifetime,
      },
      {
        name: 'remember_device_lifetime',
        label: terms.remembered_device_lifetime,
        hint: hints.remember_device_lifetime,
      },
    ],
  },
];
