import { requiredAcrs, secondFactorPolicies } from '../../../db/tables/environments.js';
import { countFactors, type FactorCount } from '../../../db/tables/factor_counts.js';
import { acrChoices } from '../../parts/forms/choices.js';
import type { Choice } from '../../parts/page-parts.js';
import { formSection, type ViewContext } from '../../parts/records/presentation.js';
import { may } from '../../parts/records/objects.js';
import { figure } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

const policyWords: Record<(typeof secondFactorPolicies)[number], { readonly label: string; readonly hint: string }> = {
  off: { label: terms.off, hint: 'Those that people have are still asked for.' },
  optional: { label: terms.optional, hint: 'People add a passkey or an app in their account.' },
  required: { label: 'Required for everyone', hint: 'Anyone without one sets it up at the next sign-in.' },
  required_for_management: {
    label: 'Required for administrators',
    hint: 'People who hold a permission of the Management API set one up at the next sign-in, and prove it before they change anything here.',
  },
};

const wouldEnrol = ({ people, without }: FactorCount) =>
  without === 0 ? ' All of them have one.' : ` ${figure(without)} of ${figure(people)} people would have to enrol.`;

/** The policies, each with whom it would ask to enrol, as far as the reader may see people. */
async function policyChoices({ req }: ViewContext): Promise<Choice[]> {
  const counts = may(req.call, 'users', 'read') ? await countFactors(req.call.ctx.scope) : null;
  const counted: Partial<Record<(typeof secondFactorPolicies)[number], string>> = counts
    ? { required: wouldEnrol(counts.everybody), required_for_management: wouldEnrol(counts.management) }
    : {};
  return secondFactorPolicies.map((value) => {
    const { label, hint } = policyWords[value];
    return { value, label, hint: `${hint}${counted[value] ?? ''}` };
  });
}

export const signInMethodsSection = formSection({ title: terms.sign_in_methods, text: 'What people can sign in with beside a password.' }, [
  { name: 'passkeys_enabled', label: terms.passkeys, hint: 'They can’t be phished, and count as both factors.' },
  {
    name: 'passkey_rp_id',
    label: 'Relying party ID',
    hint: 'A host of this environment. Leave empty for the issuer’s. It can’t be changed once someone has a passkey.',
    attributes: { maxlength: 253, spellcheck: 'false', autocapitalize: 'none' },
  },
  { name: 'totp_enabled', label: 'Authenticator apps', hint: 'Six digits that change every half minute (TOTP).' },
  { name: 'email_code_sign_in_enabled', label: 'Email code sign-in', hint: 'Anyone who can read the mailbox can sign in.' },
  {
    name: 'email_second_factor_enabled',
    label: 'Email code as second factor',
    hint: 'Weaker than an app. It doesn’t count if an application requires a second factor.',
  },
  {
    name: 'new_device_mail',
    label: 'New device notification',
    hint: 'Notifies people by email when a new browser signs in to their account.',
  },
]);

export const passwordMigrationSection = formSection(
  { title: 'Moving from another system', text: 'For imported people whose password hash the old system doesn’t hand out.' },
  [
    {
      name: 'password_migration_url',
      label: 'Password check URL',
      kind: 'url',
      hint: 'Asked once per person, at the first sign-in. Whoever answers there is told passwords and decides who signs in. Leave empty for none.',
      attributes: { maxlength: 2048 },
    },
  ],
);

export const secondFactorSection = formSection(
  {
    title: terms.multi_factor_authentication,
    text: 'Who must have a passkey or an authenticator app. Existing sessions are asked as well.',
  },
  [
    { name: 'second_factor_policy', label: 'Multi-factor policy', kind: 'radios', choices: policyChoices },
    { name: 'second_factor_grace_lifetime', label: 'Enrolment grace period', hint: 'Starts when they are first asked. 0 for none.' },
    {
      name: 'management_required_acr',
      label: 'Required authentication context for management',
      hint: 'What people must prove, however they signed in. If not set: two factors if administrators must have one, else nothing more.',
      choices: async () => acrChoices(requiredAcrs),
    },
    {
      name: 'confirmation_lifetime',
      label: 'Re-authentication lifetime',
      hint: 'At most a day. Also applies before people change their sign-in methods.',
    },
    {
      name: 'remember_device_lifetime',
      label: 'Remembered device lifetime',
      hint: 'How long a remembered browser skips the second factor; 0 for never.',
    },
  ],
);
