import { named } from '../../lib/named.js';
import type { ClaimCondition } from '../../db/tables/federated_credentials.js';
import { hints, sentences, terms } from '../words.js';

/** What the forms of a platform begin with; words in capitals are to be replaced. */
export type Platform = {
  readonly label: string;
  readonly text: string;
  readonly issuer: string;
  readonly claims: Readonly<Record<string, ClaimCondition>>;
  /** What to know of its claims. */
  readonly hint: string;
};

/** The platforms that have a form of their own, and what their tokens say. */
export const platforms: Readonly<Record<string, Platform>> = named({
  github: {
    label: terms.github_actions,
    text: sentences.jobs_of_a_repository,
    issuer: 'https://token.actions.githubusercontent.com',
    claims: { repository_id: 'REPOSITORY-ID', sub: { prefix: 'repo:OWNER/REPOSITORY:' } },
    hint: hints.repository_id_stays_when_somebody,
  },
  gitlab: {
    label: terms.gitlab,
    text: sentences.pipelines_of_a_project_at,
    issuer: 'https://gitlab.com',
    claims: { project_id: 'PROJECT-ID', sub: { prefix: 'project_path:GROUP/PROJECT:' } },
    hint: hints.add_ref_protected_true_to,
  },
  kubernetes: {
    label: terms.kubernetes,
    text: sentences.pods_by_a_projected_service,
    issuer: 'https://CLUSTER-ISSUER',
    claims: { sub: 'system:serviceaccount:NAMESPACE:SERVICE-ACCOUNT' },
    hint: hints.kubectl_get_raw_well_known,
  },
  aws: {
    label: terms.aws,
    text: sentences.iam_roles_by_outbound_identity,
    issuer: 'https://ACCOUNT-ISSUER.tokens.sts.global.api.aws',
    claims: { sub: 'arn:aws:iam::ACCOUNT:role/ROLE' },
    hint: hints.sts_get_web_identity_token,
  },
  azure: {
    label: terms.azure,
    text: sentences.managed_identities,
    issuer: 'https://login.microsoftonline.com/TENANT-ID/v2.0',
    claims: { sub: 'OBJECT-ID-OF-THE-IDENTITY' },
    hint: hints.the_audience_is_the_application,
  },
  google: {
    label: terms.google_cloud,
    text: sentences.service_accounts_by_their_identity,
    issuer: 'https://accounts.google.com',
    claims: { sub: 'UNIQUE-ID-OF-THE-SERVICE-ACCOUNT' },
    hint: hints.sub_is_the_unique_id,
  },
  other: {
    label: terms.another_platform,
    text: sentences.whatever_publishes_its_keys_and,
    issuer: '',
    claims: { sub: '' },
    hint: hints.what_sub_looks_like_is,
  },
});

/** Whether tokens of the platform have this issuer, as far as that tells: a cluster's may be at any address. */
function isIssuerOf({ issuer: begun }: Platform, issuer: string): boolean {
  const [before = '', after] = begun.split(/[A-Z][A-Z-]+/);
  if (after === undefined) return issuer === begun;
  return before + after !== 'https://' && issuer.startsWith(before) && issuer.endsWith(after);
}

/** The name of the platform whose tokens have this issuer; null where the issuer doesn't tell. */
export const platformOfIssuer = (issuer: string): string | null =>
  Object.keys(platforms).find((name) => isIssuerOf(platforms[name] as Platform, issuer)) ?? null;
