import { listPlainHttpClients } from '../../../db/tables/plain_http_clients.js';
import { listOwnerlessAgents } from '../../../db/tables/ownerless_agents.js';
import { fixes } from '../../../lib/remedies.js';
import { check, cliOn, recordSubject, inEnvironment } from '../check.js';

const most = 51;

/** The beginning of an http address, unless on the person's own machine (RFC 8252 7.3). */
const plainBeyond = /^http:\/\/(?!(localhost|[^/:]*\.localhost|127\.[0-9.]+|\[::1\])([:/?#]|$))/i;

export const clientsCheck = check({
  id: 'clients',
  title: 'Clients',
  inspects: 'Redirect URIs of enabled clients in environments of kind `production`, and who answers for enabled agents.',
  okText: 'No production client receives codes over plain http, and every agent has an owner.',
  needs: 'schema',
  faults: {
    plain: {
      level: 'warning',
      when: 'a redirect URI is http and not an address of the person’s own machine',
      why: 'Codes travel readable: whoever reads one may sign in with it (RFC 9700 2.6).',
      mend: '`npm run -s cli -- clients update <client_id> --redirect-uris <uri>`',
    },
    ownerless: {
      level: 'warning',
      when: 'an enabled agent has no `owner`, or one who is blocked',
      why: 'Nobody is asked when it does what it should not.',
      mend: '`npm run -s cli -- clients update <client_id> --owner <user_id>`, or `--is-agent false` for what is none',
    },
  },
  async run({ installation, database }) {
    const found = await database((trx) => listPlainHttpClients(trx, most));
    const plain = found.map(({ id, name, redirect_uri, redirect_uris, environment }) => {
      const better = redirect_uris.map((uri) => uri.replace(plainBeyond, 'https://'));
      return {
        fault: 'plain' as const,
        finding: `The client ${JSON.stringify(name)}${inEnvironment(environment)} has the redirect URI ${redirect_uri.split('?')[0]}.`,
        fix: fixes.updateRecord(cliOn(installation, environment), 'clients', id, 'redirect-uris', ...better),
        subject: recordSubject(environment, 'clients', id),
      };
    });
    const ownerless = (await database((trx) => listOwnerlessAgents(trx, most))).map(({ id, name, environment, count }) => ({
      fault: 'ownerless' as const,
      finding: `Nobody answers for ${count === 1 ? 'an agent' : `${count} agents`}${inEnvironment(environment)}: ${JSON.stringify(name)}${count === 1 ? '' : ' is the first'}.`,
      subject: recordSubject(environment, 'clients', id),
    }));
    return [...plain, ...ownerless];
  },
});
