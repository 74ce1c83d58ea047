import { newKeyPair, type NewKeyPair } from '../../src/platform/key-pair.js';

const services = 6;
const each = 3;

/** The worker's stock: pairs are made when first needed, and used again by the service that comes six services later. */
const stock: ReturnType<NewKeyPair>[] = [];
let turn = 0;

/**
 * Key pairs for a service on a database of its own. They are real, and other ones than those of the services beside it, but making one of RSA takes
 * longer than all else that such a service does to start. Beyond its three a service makes new ones.
 */
export function keyPairsInTurn(): NewKeyPair {
  const first = (turn++ % services) * each;
  let taken = 0;
  return (algorithm) =>
    algorithm === 'RS256' && taken < each ? (stock[first + taken++] ??= newKeyPair(algorithm)) : newKeyPair(algorithm);
}
