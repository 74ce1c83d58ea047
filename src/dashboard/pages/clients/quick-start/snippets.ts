import type { Part } from '../../../parts/page-parts.js';
import type { ViewContext } from '../../../parts/records/presentation.js';
import type { ResourceObject } from '../../../../management/documents.js';
import { addressesPart, clientCreatedParts, isJustCreated } from '../client-created.js';
import { isSaml, samlSetUpParts } from '../saml-client.js';
import { guideParts } from './steps.js';

/** What the snippets are made of: this installation's own addresses and this client's own settings. */
type Facts = {
  readonly issuer: string;
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly isPublic: boolean;
  readonly environment: string;
};

const snippet = (id: string, title: string, text: string | null, code: string): Part => ({
  kind: 'code',
  id: `snippet-${id}`,
  title,
  text,
  code,
});

/** A text inside single quotes of a shell. */
const shell = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`;

const curlCode = ({ issuer, client_id, redirect_uri, isPublic }: Facts) => `# The code comes to the redirect URI as ?code=...
curl ${shell(`${issuer}/oauth/token`)} \\
${isPublic ? `  --data-urlencode client_id=${shell(client_id)} \\` : `  --user ${shell(client_id)}:"$CLIENT_SECRET" \\`}
  --data-urlencode grant_type=authorization_code \\
  --data-urlencode code="$CODE" \\
  --data-urlencode code_verifier="$CODE_VERIFIER" \\
  --data-urlencode redirect_uri=${shell(redirect_uri)}`;

const curlMachine = ({ issuer, client_id }: Facts) => `# The client needs a grant for the API (tab Grants).
curl ${shell(`${issuer}/oauth/token`)} \\
  --user ${shell(client_id)}:"$CLIENT_SECRET" \\
  --data-urlencode grant_type=client_credentials \\
  --data-urlencode resource=${shell('https://api.example.com')}`;

/** Ready configuration for common libraries, with this client's own values; the secret, which nobody can look up, comes from the environment. */
export async function quickStartTab(view: ViewContext, record: ResourceObject): Promise<readonly Part[]> {
  if (isSaml(record)) return samlSetUpParts(view, record);
  const { issuer, name } = view.req.ctx.environment;
  const a = record.attributes;
  const facts: Facts = {
    issuer,
    client_id: record.id,
    redirect_uri: (a['redirect_uris'] as string[])[0] ?? 'http://localhost:3001/callback',
    isPublic: a['token_endpoint_auth_method'] === 'none',
    environment: name,
  };
  const addresses: readonly Part[] = isJustCreated(view) ? await clientCreatedParts(view, record) : [addressesPart(view, record)];
  if (a['application_type'] === 'machine') {
    return [
      ...addresses,
      snippet('curl', 'curl', 'Gets a token for the client itself.', curlMachine(facts)),
      ...(await guideParts(view, record)),
    ];
  }
  return [...addresses, ...(await guideParts(view, record)), snippet('curl', 'curl', 'Redeems the code by hand.', curlCode(facts))];
}
