import { named } from '../../../lib/named.js';
import type { ClaimCondition } from '../../../db/tables/federated_credentials.js';

/** What the forms of a platform begin with; words in capitals are to be replaced. */
export type Platform = {
  readonly label: string;
  readonly text: string;
  readonly issuer: string;
  readonly claims: Readonly<Record<string, ClaimCondition>>;
  /** What to know of its claims. */
  readonly hint: string;
};

export const platforms: Readonly<Record<string, Platform>> = named({
  github: {
    label: 'GitHub Actions',
    text: 'Jobs of a repository.',
    issuer: 'https://token.actions.githubusercontent.com',
    claims: { repository_id: 'REPOSITORY-ID', sub: { prefix: 'repo:OWNER/REPOSITORY:' } },
    hint: 'repository_id stays the same, even if someone reuses the name of a deleted repository. Add environment or ref to narrow it. The job needs id-token: write.',
  },
  gitlab: {
    label: 'GitLab',
    text: 'Pipelines of a project, at gitlab.com or self-hosted.',
    issuer: 'https://gitlab.com',
    claims: { project_id: 'PROJECT-ID', sub: { prefix: 'project_path:GROUP/PROJECT:' } },
    hint: 'Add ref_protected: true to take protected branches and tags only.',
  },
  kubernetes: {
    label: 'Kubernetes',
    text: 'Pods, by a projected service account token.',
    issuer: 'https://CLUSTER-ISSUER',
    claims: { sub: 'system:serviceaccount:NAMESPACE:SERVICE-ACCOUNT' },
    hint: 'kubectl get --raw /.well-known/openid-configuration shows the issuer. If its keys aren’t public, paste them.',
  },
  aws: {
    label: 'AWS',
    text: 'IAM roles, by outbound identity federation.',
    issuer: 'https://ACCOUNT-ISSUER.tokens.sts.global.api.aws',
    claims: { sub: 'arn:aws:iam::ACCOUNT:role/ROLE' },
    hint: 'sts get-web-identity-token returns the token. The account shows its issuer if the feature is on.',
  },
  azure: {
    label: 'Azure',
    text: 'Managed identities.',
    issuer: 'https://login.microsoftonline.com/TENANT-ID/v2.0',
    claims: { sub: 'OBJECT-ID-OF-THE-IDENTITY' },
    hint: 'The audience is the application ID that the token is asked for. Tokens of version 1 have https://sts.windows.net/TENANT-ID/ as their issuer.',
  },
  google: {
    label: 'Google Cloud',
    text: 'Service accounts, by their identity tokens.',
    issuer: 'https://accounts.google.com',
    claims: { sub: 'UNIQUE-ID-OF-THE-SERVICE-ACCOUNT' },
    hint: 'sub is the unique numeric ID of the service account. Its address can be reused later.',
  },
  other: {
    label: 'Another platform',
    text: 'Any platform that publishes its keys and signs tokens for its workloads.',
    issuer: '',
    claims: { sub: '' },
    hint: 'See the platform’s documentation for the format of sub.',
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
