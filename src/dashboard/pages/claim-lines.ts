import type { ClaimCondition } from '../../db/tables/federated_credentials.js';
import type { ResourceObject } from '../../management/documents.js';
import type { Value } from '../page-parts.js';
import { lines } from '../values.js';
import { fill, terms } from '../words.js';

function inWords(condition: ClaimCondition): string {
  if (typeof condition === 'string') return `= ${condition}`;
  return 'prefix' in condition ? fill(terms.begins_with_prefix, { prefix: condition.prefix }) : `= ${condition.join(' or ')}`;
}

/** The conditions of a federated credential, one a line: `sub begins with repo:octo-org/`. */
export const claimLines = ({ attributes }: ResourceObject): Value =>
  lines(
    Object.entries(attributes['claims'] as Readonly<Record<string, ClaimCondition>>).map(
      ([name, condition]) => `${name} ${inWords(condition)}`,
    ),
  );
