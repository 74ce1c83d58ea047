import { type Problem, unfit } from '../refusal.js';
import type { Connection } from './connections.js';

const refused = (code: 'invalid_value' | 'required', detail: string): Problem => unfit('provider_client_id', code, detail);

/** What the provider calls us; SAML has an entity ID instead. */
export const clientIdProblems = ({ strategy, provider_client_id }: Connection): Problem[] => {
  if (strategy === 'saml')
    return provider_client_id ? [refused('invalid_value', 'SAML has none: our entity ID is the address of our metadata.')] : [];
  return provider_client_id ? [] : [refused('required', `The strategy ${strategy} needs provider_client_id.`)];
};
