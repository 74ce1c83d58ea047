import type { ResourceObject } from '../../management/documents.js';
import type { Value } from '../page-parts.js';
import { recordPath } from '../presentation.js';
import { code, state, text } from '../values.js';
import { fill, terms } from '../words.js';

/** What a client without a secret authenticates with instead: keys of its own, workloads, or, of a public one, nothing but PKCE. `credentials`: null for somebody who may not see them. */
export function insteadOfSecret(id: string, a: ResourceObject['attributes'], credentials: readonly ResourceObject[] | null): Value[] {
  if (a['token_endpoint_auth_method'] === 'none') return [text(terms.pkce_in_its_place)];
  const keys = (a['jwks'] as { keys?: unknown[] } | null)?.keys?.length ?? 0;
  const workloads = credentials?.filter(({ type }) => type === 'federated_credential').length ?? 0;
  const tab = `${recordPath('clients', id)}/workloads`;
  const ways: Value[] = [
    ...(keys > 0 ? [text(keys === 1 ? terms.signs_with_one_key : fill(terms.signs_with_registered_keys, { count: keys }))] : []),
    ...(a['jwks_uri'] === null ? [] : [text(terms.signs_with_keys_at), code(a['jwks_uri'])]),
    ...(workloads > 0
      ? [
          {
            kind: 'link' as const,
            text: workloads === 1 ? terms.workload_identity_of_one : fill(terms.workload_identity_of, { count: workloads }),
            path: tab,
          },
        ]
      : []),
  ];
  if (ways.length > 0) return ways;
  return [credentials === null ? text(terms.private_key_jwt) : state('warning', terms.no_key_and_no_credential)];
}
