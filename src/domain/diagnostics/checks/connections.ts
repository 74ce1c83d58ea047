import {
  listTakingConnections,
  listWatchedConnections,
  type TakingConnection,
  type WatchedConnection,
} from '../../../db/tables/connections.js';
import { groupedBy } from '../../../lib/grouped.js';
import { own } from '../../../lib/named.js';
import { connectionStrategies, type StrategyDescription } from '../../connections/strategies.js';
import { assertionIssuerOf } from '../../connections/connections.js';
import { connectionHealth } from '../../health/health.js';
import { fixes } from '../../../lib/remedies.js';
import { check, cliOn, recordSubject, inEnvironment, type Found } from '../check.js';
import type { Installation } from '../installation.js';
import { askOrigins, reachText, type Reached } from '../reach-origins.js';

const most = 100;

type Fault = 'unreachable' | 'blocked' | 'failing' | 'assertions_ambiguous';

/** The addresses of the provider that the service itself asks. */
function addressesOf({ strategy, issuer, token_endpoint, userinfo_endpoint, signals_poll_url }: WatchedConnection): string[] {
  const known = own(connectionStrategies, strategy) as StrategyDescription | undefined;
  const given = [
    issuer ?? known?.issuer,
    token_endpoint ?? known?.endpoints.token_endpoint,
    userinfo_endpoint ?? known?.endpoints.userinfo_endpoint,
    signals_poll_url,
  ];
  return given.filter((url) => typeof url === 'string' && URL.canParse(url)) as string[];
}

/** What is wrong with a connection whose provider takes connections as far as that is `reached`. */
function faultOf(installation: Installation, connection: WatchedConnection, reached: ReadonlyMap<string, Reached>): Found<Fault>[] {
  const { id, name, environment, failing } = connection;
  const origins = [...new Set(addressesOf(connection).map((url) => new URL(url).origin))];
  const away = origins.find((origin) => reached.get(origin));
  const reason = away === undefined ? null : reached.get(away);
  const fix = fixes.updateRecord(cliOn(installation, environment), 'connections', id, 'status', 'disabled');
  const who = `the connection ${JSON.stringify(name)}${inEnvironment(environment)}`;
  const subject = recordSubject(environment, 'connections', id);
  if (away !== undefined && reason) {
    const fault = reason === 'blocked_address' || reason === 'protocol' ? 'blocked' : 'unreachable';
    return [{ fault, finding: `The provider of ${who} can not be reached: ${away} ${reachText(reason)}.`, fix, subject }];
  }
  if (connectionHealth({ failed: failing, since: null }) === null) return [];
  const finding = `Since yesterday ${failing} sign-ins failed at the provider of ${who}, and none succeeded.`;
  return [{ fault: 'failing', finding, fix, subject }];
}

/** Connections that take assertions of an issuer of which another one takes them too: nobody's are taken then. */
function ambiguous(taking: readonly TakingConnection[]): Found<Fault>[] {
  const byIssuer = groupedBy(taking, (one) => JSON.stringify([one.environment, assertionIssuerOf(one), one.assertion_tenant]));
  return [...byIssuer.values()]
    .filter((same) => same.length > 1)
    .flatMap((same) => same.slice(0, 1))
    .map((one) => ({
      fault: 'assertions_ambiguous',
      finding: `Several connections${inEnvironment(one.environment)} take identity assertions of ${assertionIssuerOf(one) ?? 'no issuer'}, ${JSON.stringify(one.name)} among them.`,
      subject: recordSubject(one.environment, 'connections', one.id),
    }));
}

export const connectionsCheck = check({
  id: 'connections',
  title: 'Connections',
  inspects:
    'The first hundred enabled connections: a connection to each issuer, token and userinfo endpoint, and where signals are fetched, is opened and closed, nothing is sent. And what came of sign-ins since yesterday (UTC).',
  okText: 'Every provider can be reached and signs people in.',
  needs: 'schema',
  faults: {
    unreachable: {
      level: 'warning',
      when: 'nobody listens where the provider should be, or TLS fails',
      why: 'Sign-in through it ends with an error page; people of a connection that is `required` can’t sign in at all.',
      mend: 'the provider, or the way to it; `npm run -s cli -- connections update <id> --status disabled` takes its button away',
    },
    blocked: {
      level: 'warning',
      when: 'the provider’s address is forbidden (private networks, this machine, plain http)',
      why: 'Sign-in through it ends with an error page.',
      mend: '`ALLOW_PRIVATE_NETWORK=on` where the network is yours, or `connections update <id> --status disabled`',
    },
    failing: {
      level: 'warning',
      when: 'three sign-ins or more failed since yesterday and none succeeded, though the provider can be reached',
      why: 'Nobody comes in through it: a client secret has run out there, or its keys or addresses are others now. `sso.refused` in the log says how; so does the connection’s test in the dashboard.',
      mend: 'the connection’s settings, as its test tells; `npm run -s cli -- connections update <id> --status disabled` takes its button away',
    },
    assertions_ambiguous: {
      level: 'warning',
      when: 'two connections of an environment take identity assertions of one issuer and tenant',
      why: 'It is not told whose people they are: each is `invalid_grant`.',
      mend: '`assertions` of all but one of them',
    },
  },
  async run({ installation, database }) {
    const watched = await database((trx) => listWatchedConnections(trx, most));
    const reached = await askOrigins(installation, watched.flatMap(addressesOf));
    return [
      ...watched.flatMap((connection) => faultOf(installation, connection, reached)),
      ...ambiguous(await database(listTakingConnections)),
    ];
  },
});
