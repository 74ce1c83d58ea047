import type { ClaimCondition } from '../../../db/tables/federated_credentials.js';
import type { ResourceObject } from '../../../management/documents.js';
import type { Value } from '../../parts/page-parts.js';
import { lines } from '../../parts/values.js';

function inWords(condition: ClaimCondition): string {
  if (typeof condition === 'string') return `= ${condition}`;
  return 'prefix' in condition ? `begins with ${condition.prefix}` : `= ${condition.join(' or ')}`;
}

/** The conditions of a federated credential, one a line: `sub begins with repo:octo-org/`. */
export const claimLines = ({ attributes }: ResourceObject): Value =>
  lines(
    Object.entries(attributes['claims'] as Readonly<Record<string, ClaimCondition>>).map(
      ([name, condition]) => `${name} ${inWords(condition)}`,
    ),
  );
