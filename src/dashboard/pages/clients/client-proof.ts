import type { ResourceObject } from '../../../management/documents.js';
import type { Value } from '../../parts/page-parts.js';
import { recordPath } from '../../parts/records/presentation.js';
import { code, state, text } from '../../parts/values.js';
import { terms } from '../../parts/words.js';

/** What a client without a secret authenticates with instead: keys of its own, workloads, or, of a public one, nothing but PKCE. `credentials`: null for somebody who may not see them. */
export function insteadOfSecret(id: string, a: ResourceObject['attributes'], credentials: readonly ResourceObject[] | null): Value[] {
  if (a['token_endpoint_auth_method'] === 'none') return [text('A public client: PKCE takes its place')];
  const keys = (a['jwks'] as { keys?: unknown[] } | null)?.keys?.length ?? 0;
  const workloads = credentials?.filter(({ type }) => type === 'federated_credential').length ?? 0;
  const tab = `${recordPath('clients', id)}/workloads`;
  const ways: Value[] = [
    ...(keys > 0
      ? [text(keys === 1 ? 'Signs with its own key: one public key registered' : `Signs with its own key: ${keys} public keys registered`)]
      : []),
    ...(a['jwks_uri'] === null ? [] : [text('Signs with its own key, found at its JWKS URI'), code(a['jwks_uri'])]),
    ...(workloads > 0
      ? [
          {
            kind: 'link' as const,
            text: workloads === 1 ? 'Workload identity: one federated credential' : `Workload identity: ${workloads} federated credentials`,
            path: tab,
          },
        ]
      : []),
  ];
  if (ways.length > 0) return ways;
  return [credentials === null ? text(terms.private_key_jwt) : state('warning', 'No key and no federated credential yet')];
}
