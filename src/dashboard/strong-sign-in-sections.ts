import { requiredAcrs, secondFactorPolicies } from '../db/tables/environments.js';
import { countFactors, type FactorCount } from '../db/tables/factor_counts.js';
import { acrChoices } from './choices.js';
import type { Choice } from './page-parts.js';
import type { FieldSpec, ViewContext } from './presentation.js';
import { may } from './resource-objects.js';
import { figure } from './values.js';

const policyWords: Record<(typeof secondFactorPolicies)[number], { readonly label: string; readonly hint: string }> = {
  off: { label: 'Nobody enrols one', hint: 'Those that people have are still asked for.' },
  optional: { label: 'Who wants to', hint: 'People add a passkey or an app in their account.' },
  required: { label: 'Everybody', hint: 'Who has none sets one up at the next sign-in.' },
  required_for_management: {
    label: 'Whoever administers',
    hint: 'People who hold a permission of the Management API set one up at the next sign-in, and prove it before they change anything here.',
  },
};

const wouldEnrol = ({ people, without }: FactorCount) =>
  without === 0 ? ' All of them have one.' : ` ${figure(without)} of ${figure(people)} people would have to enrol.`;

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
    title: 'Passkeys and codes',
    text: 'What people can sign in with beside a password.',
    fields: [
      { name: 'passkeys_enabled', label: 'Passkeys', hint: 'They can’t be phished, and are both steps at once.' },
      {
        name: 'passkey_rp_id',
        label: 'Domain of passkeys',
        hint: 'A host of this environment; empty for the issuer’s. Fixed once somebody has a passkey: move to another domain before that.',
        attributes: { maxlength: 253, spellcheck: 'false', autocapitalize: 'none' },
      },
      { name: 'totp_enabled', label: 'Authenticator apps', hint: 'Six digits that change every half minute (TOTP).' },
      { name: 'email_code_sign_in_enabled', label: 'Codes by mail instead of a password', hint: 'Whoever reads the mailbox can sign in.' },
      {
        name: 'email_second_factor_enabled',
        label: 'Codes by mail as the second step',
        hint: 'Weaker than an app: it does not count where a second factor is required by an application.',
      },
      { name: 'new_device_mail', label: 'Tell people by mail when a new browser signs in to their account' },
    ],
  },
  {
    name: 'second_factor',
    title: 'Second factor',
    text: 'Who has to have a passkey or an authenticator app. Sessions from before are asked as well.',
    fields: [
      { name: 'second_factor_policy', label: 'Who must have one', kind: 'radios', choices: policyChoices },
      {
        name: 'second_factor_grace_lifetime',
        label: 'How long they may put it off',
        hint: 'Seconds from when they are first asked; 0 for not at all. 604800 is a week.',
      },
      {
        name: 'management_required_acr',
        label: 'To change something here or through the API',
        hint: 'What people prove, however they signed in. Not set: two factors where administrators must have one, else nothing more.',
        choices: async () => acrChoices(requiredAcrs),
      },
      {
        name: 'confirmation_lifetime',
        label: 'How long such a proof counts',
        hint: 'Seconds, at most 86400. It is also asked for before somebody changes what signs them in.',
      },
      {
        name: 'remember_device_lifetime',
        label: 'How long a remembered browser skips the second step',
        hint: 'Seconds; 0 for never. 2592000 is thirty days.',
      },
    ],
  },
];
