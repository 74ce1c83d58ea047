import { listPlainHttpClients } from '../../../db/tables/plain_http_clients.js';
import { fixes } from '../../../lib/remedies.js';
import { check, cliOn, recordSubject, inEnvironment } from '../check.js';

const most = 51;

/** The beginning of an http address, unless on the person's own machine (RFC 8252 7.3). */
const plainBeyond = /^http:\/\/(?!(localhost|[^/:]*\.localhost|127\.[0-9.]+|\[::1\])([:/?#]|$))/i;

export const clientsCheck = check({
  id: 'clients',
  title: 'Clients',
  inspects: 'Redirect URIs of enabled clients in environments of kind `production`.',
  okText: 'No production client receives codes over plain http.',
  needs: 'schema',
  variables: [],
  faults: {
    plain: {
      level: 'warning',
      when: 'a redirect URI is http and not an address of the person’s own machine',
      why: 'Codes travel readable: whoever reads one may sign in with it (RFC 9700 2.6).',
      mend: '`npm run -s cli -- clients update <client_id> --redirect-uris <uri>`',
    },
  },
  async run({ installation, database }) {
    const found = await database((trx) => listPlainHttpClients(trx, most));
    return found.map(({ id, name, redirect_uri, redirect_uris, environment }) => {
      const better = redirect_uris.map((uri) => uri.replace(plainBeyond, 'https://'));
      return {
        fault: 'plain' as const,
        finding: `The client ${JSON.stringify(name)}${inEnvironment(environment)} has the redirect URI ${redirect_uri.split('?')[0]}.`,
        fix: fixes.updateRecord(cliOn(installation, environment), 'clients', id, 'redirect-uris', ...better),
        subject: recordSubject(environment, 'clients', id),
      };
    });
  },
});
