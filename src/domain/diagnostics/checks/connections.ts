import { listWatchedConnections, type WatchedConnection } from '../../../db/tables/connections.js';
import { own } from '../../../lib/named.js';
import { connectionStrategies, type StrategyDescription } from '../../connections/strategies.js';
import { check, cliOn, recordOf, within, type Found } from '../check.js';
import { askOrigins, reachText } from '../reach-origins.js';

const most = 100;

/** The addresses of the provider that the service itself asks. */
function addressesOf({ strategy, issuer, token_endpoint, userinfo_endpoint }: WatchedConnection): string[] {
  const known = own(connectionStrategies, strategy) as StrategyDescription | undefined;
  const given = [
    issuer ?? known?.issuer,
    token_endpoint ?? known?.endpoints.token_endpoint,
    userinfo_endpoint ?? known?.endpoints.userinfo_endpoint,
  ];
  return given.filter((url) => typeof url === 'string' && URL.canParse(url)) as string[];
}

export const connections = check({
  id: 'connections',
  title: 'Connections',
  looks:
    'Enabled connections of all environments, the first hundred: a connection to issuer, token and userinfo endpoint of each is opened and closed, nothing is sent.',
  well: 'Every provider can be reached.',
  needs: 'schema',
  variables: [],
  faults: {
    unreachable: {
      level: 'warning',
      when: 'nobody listens where the provider should be, or TLS fails',
      why: 'Sign-in through it ends with an error page; people of a connection that is `required` can’t sign in at all.',
      mend: 'the provider, or the way to it; `npm run -s cli -- connections update <id> --status disabled` takes its button away',
    },
    blocked: {
      level: 'warning',
      when: 'the provider is at an address that requests may not go to (private networks, this machine, plain http)',
      why: 'Sign-in through it ends with an error page.',
      mend: '`ALLOW_PRIVATE_NETWORK=on` where the network is yours, or `connections update <id> --status disabled`',
    },
  },
  async run({ installation, database }) {
    const watched = await database((trx) => listWatchedConnections(trx, most));
    const reached = await askOrigins(installation, watched.flatMap(addressesOf));
    return watched.flatMap((connection): Found<'unreachable' | 'blocked'>[] => {
      const origins = [...new Set(addressesOf(connection).map((url) => new URL(url).origin))];
      const away = origins.find((origin) => reached.get(origin));
      const reason = away === undefined ? null : reached.get(away);
      if (away === undefined || !reason) return [];
      const fix = cliOn(installation, connection.environment, `connections update ${connection.id} --status disabled`);
      const finding = `The provider of the connection ${JSON.stringify(connection.name)}${within(connection.environment)} can not be reached: ${away} ${reachText(reason)}.`;
      return [
        {
          fault: reason === 'blocked_address' || reason === 'protocol' ? 'blocked' : 'unreachable',
          finding,
          fix,
          subject: recordOf(connection.environment, 'connections', connection.id),
        },
      ];
    });
  },
});
