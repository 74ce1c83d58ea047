import type { Context } from '../../domain/context.js';
import { z } from 'zod';
import { checkUrl } from '../../platform/fetch/guard.js';
import { baseUrlOf } from '../../domain/environments/environments.js';
import {
  changeEnvironment,
  createEnvironment,
  refuseUnlessOperator,
  removeEnvironment,
  type EnvironmentInput,
} from '../../domain/configuration/settings.js';
import { invalidValue, type Problem, unfit } from '../../domain/refusal.js';
import { reachOfEnvironment } from '../../domain/reach/reach-of.js';
import { generateKeysFor, signingAlgorithmProblems } from '../../domain/signing-keys/algorithms.js';
import type { NewSigningKey } from '../../domain/signing-keys/signing-keys.js';
import {
  clientRegistrationPolicies,
  dpopNonceRules,
  environmentKinds,
  metadataDocumentPolicies,
  requiredAcrs,
  secondFactorPolicies,
  visibleEnvironments,
  type ListedEnvironmentRow,
} from '../../db/tables/environments.js';
import { breachedPasswordRules, breachedSignInRules } from '../../lib/breach-rules.js';
import { languageTags } from '../../lib/languages/languages.js';
import { signingAlgorithms, type SigningAlgorithm } from '../../lib/signing-algorithm.js';
import { boundedText, equalTo, isoTime, lifetime, shownName, stamps, stampSorts, textSort, uniqueTexts, webUrl } from '../fields.js';
import { resource } from '../declaration.js';
import { approvalSettings } from './approval-settings.js';
import { unusedLifetimes } from './unused-lifetimes.js';
import { brandingAttributes } from './branding.js';

const day = 86_400;
const kind = z.enum(environmentKinds);
const slug = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a DNS label: lower-case letters, digits and inner hyphens');
const domainName = z
  .string()
  .max(253)
  .regex(/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a lower-case domain name');

const documentHost = z
  .string()
  .max(255)
  .regex(
    /^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be a lower-case host name, or *. and one',
  )
  // Who may have a name below a name of one label is anybody.
  .refine((host) => !host.startsWith('*.') || host.split('.').length > 2, 'must have two names at least after *.');

const hostName = z
  .string()
  .max(253)
  .regex(/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/, 'must be a lower-case host name');

const rpId =
  'The domain that passkeys belong to (RP id, WebAuthn L3 5.1.2): a host of the environment, never a parent of one. null = the issuer’s host, once the first passkey is made; from then on it can not be changed.';
const policy =
  '`off`: nobody can enrol a second factor, what exists is still asked for; `optional`: people may; `required`: everybody must have one; `required_for_management`: whoever holds a permission of the Management API must.';
const confirmation =
  'How old a proof of the person may be, in seconds, for changes of what signs them in, and for writes through the Management API and the dashboard where these demand a class.';
const emailedCode =
  'Whether a code by mail can be a second step. It raises no class, and is not taken after a code by mail, or while the password came by mail.';
const managementAcr =
  'The class that people need for writes through the Management API and the dashboard (RFC 9470): `2` = a second factor, `phr` = a passkey; null = `2` where `second_factor_policy` requires a factor, else none.';

const earlierIssuer = isoTime.nullable().meta({
  description:
    'Until when tokens are taken of which the base URL is the `iss`, while a custom domain is the issuer. Set when a domain becomes the primary one, to when the last token expires; null = they are not taken, unless it is the issuer.',
}) as unknown as z.ZodType<Date | null>;

function environmentProblems(ctx: Context, input: Partial<EnvironmentInput>): Problem[] {
  const { client_registration_policy: policy, dynamic_registration_enabled: enabled } = input;
  const contradict = policy !== undefined && enabled !== undefined && enabled !== (policy !== 'off');
  const detail = 'It says whether client_registration_policy is not off.';
  const url = input.password_migration_url ?? null;
  const code = url === null ? null : checkUrl(url, { allowPrivateNetwork: ctx.config.allowPrivateNetwork });
  return [
    ...(code === null ? [] : [unfit('password_migration_url', code, 'Passwords can not be checked there.')]),
    ...signingAlgorithmProblems(input.signing_algorithms),
    ...(contradict ? [invalidValue('dynamic_registration_enabled', detail)] : []),
  ];
}

export const environments = resource<ListedEnvironmentRow, EnvironmentInput, EnvironmentInput>({
  type: 'environment',
  path: 'environments',
  description:
    'Separate worlds of users, clients and keys. A token sees its own environment; tokens of the default one see, create and delete all.',
  source: { visible: visibleEnvironments },
  attributes: z.object({ is_default: z.boolean(), base_url: z.string(), issuer: z.string(), ...stamps }),
  computed: {
    base_url: (row, ctx) => baseUrlOf(ctx.config, row),
    issuer: (row, ctx) =>
      row.primary_domain === null || row.primary_domain === undefined ? baseUrlOf(ctx.config, row) : `https://${row.primary_domain}`,
  },
  reach: {
    of: reachOfEnvironment,
    // A new one comes with a client that may do everything there; with an old one goes all that is in it.
    create: 'everything',
    remove: 'everything',
  },
  settable: {
    name: ['plain', shownName(100), 'needed'],
    slug: ['everything', slug, 'needed and fixed'],
    kind: ['everything', kind, 'needed'],
    base_url_issuer_until: ['everything', earlierIssuer, 'later'],
    session_lifetime: ['everything', lifetime(300, 365 * day)],
    session_idle_lifetime: ['everything', lifetime(60, 365 * day).nullable()],
    default_access_token_lifetime: ['plain', lifetime(60, day)],
    id_token_lifetime: ['plain', lifetime(60, day)],
    refresh_token_lifetime: ['everything', lifetime(60, 400 * day)],
    refresh_token_idle_lifetime: ['everything', lifetime(60, 400 * day)],
    branding: [
      'plain',
      z.strictObject({
        ...brandingAttributes,
        policy_uri: webUrl.nullable().optional().meta({ description: 'The privacy policy, linked below the sign-in pages.' }),
        tos_uri: webUrl.nullable().optional().meta({ description: 'The terms of service, linked below the sign-in pages.' }),
      }),
    ],
    support_email: ['plain', z.email().max(254).nullable()],
    default_locale: ['plain', z.enum(languageTags)],
    registration_enabled: ['reach', z.boolean()],
    password_min_length: ['everything', z.int().min(8).max(64)],
    breached_passwords: ['everything', z.enum(breachedPasswordRules)],
    breached_password_sign_in: [
      'everything',
      z.enum(breachedSignInRules).meta({
        description:
          'What follows when a password that somebody signed in with is known from a data breach, while `breached_passwords` is `refuse`. `notify`: they are told by mail; `require_reset`: it signs nobody in any more either; `off`: such passwords are not looked up.',
      }),
    ],
    otp_lifetime: ['everything', lifetime(60, 3600)],
    otp_max_attempts: ['everything', z.int().min(1).max(20)],
    lockout_threshold: ['everything', z.int().min(1).max(1000)],
    lockout_lifetime: ['everything', lifetime(1, day)],
    allowed_email_domains: ['everything', uniqueTexts(domainName, 200)],
    // Clients that register themselves hold nothing and may not ask for the Management API.
    dynamic_registration_enabled: ['plain', z.boolean()],
    client_registration_policy: [
      'plain',
      z.enum(clientRegistrationPolicies).meta({
        description:
          'Who may register clients (RFC 7591): nobody, whoever has an initial access token, or everybody. `dynamic_registration_enabled` is whether it is not `off`; true opens it.',
      }),
    ],
    self_registered_client_limit: [
      'plain',
      z.int().min(0).max(10_000_000).meta({ description: 'How many clients may have registered themselves; then it is 429.' }),
    ],
    ...unusedLifetimes,
    ...approvalSettings,
    // They verify clients, and keep out those that were let in, which takes `clients:write` and what the clients reach by hand.
    client_id_metadata_documents: [
      'everything',
      z.enum(metadataDocumentPolicies).meta({
        description:
          'Which clients may come without being registered, known by the document at the address that is their `client_id`: none, those of `client_id_metadata_hosts`, all.',
      }),
    ],
    client_id_metadata_hosts: [
      'everything',
      uniqueTexts(documentHost, 200).meta({
        description:
          'Hosts of such documents whose clients are let in and verified: names, or `*.example.com` for all below it. Not a suffix that anybody can have a name below, as `*.github.io`.',
      }),
    ],
    // Refuses requests, and lets none in that was refused.
    require_pushed_authorization_requests: [
      'everything',
      z.boolean().meta({ description: 'Whether every client has to push its authorization requests (RFC 9126 5).' }),
    ],
    // Optional, a stolen proof that was not used yet is good for its minute.
    dpop_nonce: [
      'everything',
      z.enum(dpopNonceRules).meta({
        description:
          'Whether DPoP proofs have to bear a nonce of ours (RFC 9449 8). Without one they are good for a minute by the clock of the client.',
      }),
    ],
    // Adds keys whose private halves the service alone holds; one that is used can't go.
    signing_algorithms: [
      'plain',
      uniqueTexts(z.enum(signingAlgorithms), signingAlgorithms.length).meta({
        description:
          'What clients and API resources can have signed with; each has a key of its own. `RS256` stays, and is what they get unless they choose another one.',
      }) as unknown as z.ZodType<SigningAlgorithm[]>,
    ],
    // What guards everybody’s sign-in, or tells people of one.
    passkeys_enabled: ['everything', z.boolean()],
    passkey_rp_id: ['everything', hostName.nullable().meta({ description: rpId })],
    totp_enabled: ['everything', z.boolean()],
    second_factor_policy: ['everything', z.enum(secondFactorPolicies).meta({ description: policy })],
    second_factor_grace_lifetime: ['everything', lifetime(0, 365 * day)],
    confirmation_lifetime: ['everything', lifetime(1, day).meta({ description: confirmation })],
    remember_device_lifetime: ['everything', lifetime(0, 365 * day)],
    email_code_sign_in_enabled: ['everything', z.boolean()],
    // Tells an address to clients that were let in to the profile alone, and names that are unique to applications that take them for it.
    preferred_username_from_email: ['everything', z.boolean()],
    email_second_factor_enabled: ['everything', z.boolean().meta({ description: emailedCode })],
    new_device_mail: ['everything', z.boolean()],
    record_token_issued: ['plain', z.boolean()],
    account_deletion_delay: [
      'everything',
      lifetime(day, 365 * day)
        .nullable()
        .meta({
          description: 'How long signing in keeps an account that its user deletes, in seconds; null = users can not delete theirs.',
        }),
    ],
    // Whoever answers there is told passwords, and decides who signs in.
    password_migration_url: [
      'everything',
      boundedText(2048).nullable().meta({
        description:
          'Where users with `pending_migration` have their first password checked: it gets a signed POST `{email, password}` and answers `{"valid": true}`. null = nowhere.',
      }),
    ],
    management_required_acr: ['everything', z.enum(requiredAcrs).nullable().meta({ description: managementAcr })],
  },
  filters: { kind: equalTo('kind', kind, 'What it is for.'), slug: equalTo('slug', slug, 'The exact slug.') },
  sorts: { ...stampSorts('environments'), name: textSort('environments.name') },
  create: {
    meta: z.object({
      management_client: z.object({ client_id: z.string(), client_secret: z.string().optional() }),
      secret_shown_before: z.literal(true).optional(),
    }),
    allow: refuseUnlessOperator,
    problems: (ctx, input) => environmentProblems(ctx, input),
    prepare: (ctx, _actor, input) => generateKeysFor(ctx, input.signing_algorithms ?? ['RS256'], []),
    async run(tx, _actor, input, _related, keys) {
      const { row, management_client } = await createEnvironment(tx, input, keys as NewSigningKey[]);
      return {
        row: { ...row, primary_domain: null },
        meta: { management_client },
        metaAgain: { management_client: { client_id: management_client.client_id } },
      };
    },
  },
  update: {
    problems: (ctx, input) => environmentProblems(ctx, input),
    prepareFor: ['signing_algorithms'],
    prepare: (ctx, _actor, row, input) => generateKeysFor(ctx, input.signing_algorithms, row.signing_algorithms),
    run: async (tx, _actor, row, input, _related, keys) => ({
      row: { ...(await changeEnvironment(tx, row, input, (keys ?? []) as NewSigningKey[])), primary_domain: row.primary_domain },
    }),
  },
  remove: { run: (tx, _actor, row) => removeEnvironment(tx, row) },
  display: (row) => row.slug,
});
