import type { LookupFunction } from 'node:net';
import { isAllowedAddress, type NetworkPolicy } from './guard.js';
import type { NameLookup } from './look-up.js';
import { asOutboundError, OutboundError } from './outbound-error.js';

type Vetted = { readonly address: string; readonly family: 4 | 6 };

/** All addresses of a name. @throws {OutboundError} `blocked_address` when any of them isn't allowed, `dns` when there are none */
async function vet(name: string, resolve: NameLookup, policy: NetworkPolicy): Promise<[Vetted, ...Vetted[]]> {
  const addresses = await resolve(name).catch((error: unknown) => {
    throw new OutboundError('dns', `${name} could not be resolved`, error);
  });
  const [first, ...others] = addresses.map((address): Vetted => ({ address, family: address.includes(':') ? 6 : 4 }));
  if (!first) throw new OutboundError('dns', `${name} has no address`);
  if (!addresses.every((address) => isAllowedAddress(address, policy))) {
    throw new OutboundError('blocked_address', `${name} leads to an address that requests may not go to`);
  }
  return [first, ...others];
}

/** A `lookup` function for sockets that checks every address it returns, so that the checked address is the one connected to (DNS rebinding). */
export function vettedLookup(resolve: NameLookup, policy: NetworkPolicy): LookupFunction {
  return (name, options, callback) => {
    const answer = async () => {
      const vetted = await vet(name, resolve, policy).catch((error: unknown) => asOutboundError(error));
      if (vetted instanceof OutboundError) callback(vetted, '', 0);
      else if (options.all) callback(null, vetted);
      else callback(null, vetted[0].address, vetted[0].family);
    };
    void answer();
  };
}
