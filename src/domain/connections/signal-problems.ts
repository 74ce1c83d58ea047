import { type Problem, unfit } from '../refusal.js';
import { ownClientKeepsStream, signalsIssuerOf, type Connection } from './connections.js';

/** Whose signals they are has to be known, and with what they are fetched. */
export function signalProblems(row: Connection): Problem[] {
  if (row.signals === 'off') return [];
  const isSaml = row.strategy === 'saml';
  const missing = [
    ...(signalsIssuerOf(row) === null ? [isSaml ? 'signals_issuer' : 'issuer'] : []),
    ...(row.signals === 'poll' && row.signals_token_sealed === null && !ownClientKeepsStream(row) ? ['signals_token'] : []),
  ];
  return missing.map((attribute) => unfit(attribute, 'required', `With signals ${row.signals} the connection needs ${attribute}.`));
}
