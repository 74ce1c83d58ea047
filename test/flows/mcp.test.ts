// An MCP client that nobody registered signs somebody in, calls a tool and refreshes: the official SDK, unmodified, against examples/mcp-server.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { UnauthorizedError, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser, csrfOf, locationParameters } from '../support/browser.js';
import { selfSigned } from '../support/certificates.js';
import { addUser, password } from '../support/data.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { Api, managementClient, managementToken } from '../support/management.js';
import { clientMetadata, setEnvironmentOf, startNotes, type Notes } from '../support/mcp.js';
import { killReplicas, startReplica, type Replica } from '../support/replica.js';
import { freePort } from '../support/service.js';
import { openContext } from '../support/standalone.js';
import { directoryOfFile } from '../support/temporary-directory.js';

const redirectUrl = 'http://localhost:33418/callback';
const metadata = clientMetadata(redirectUrl);

const directory = directoryOfFile();
let documents: Server;
let documentUrl: string;
let database: TestDatabase;
let replica: Replica;
let api: Api;
let notes: Notes;
let person: { readonly id: string; readonly email: string };

beforeAll(async () => {
  const authority = await startDocuments();
  database = await createTestDatabase();
  const secretKey = randomBytes(32).toString('base64');
  const { ctx, close } = await openContext(database.url, secretKey);
  person = await addUser(ctx);
  await close();
  replica = await startReplica(database.url, secretKey, {
    NODE_EXTRA_CA_CERTS: authority,
    MANAGEMENT_CLIENT_ID: managementClient.id,
    MANAGEMENT_CLIENT_SECRET: managementClient.client_secret,
  });
  api = new Api(replica.url, await managementToken(replica.url));
  notes = await startNotes(api, person.id);
});
afterAll(async () => {
  notes?.stop();
  killReplicas();
  await database?.drop();
  documents?.close();
});

/** A site that holds the client's document; the file of the authority that signed its certificate. */
async function startDocuments(): Promise<string> {
  const authority = selfSigned({ name: 'Test authority', authority: true });
  const { cert, key } = authority.issue({ name: 'localhost' });
  const port = await freePort();
  documentUrl = `https://localhost:${port}/desk.json`;
  documents = createServer({ cert, key }, (_req, res) => {
    res.setHeader('content-type', 'application/json').end(JSON.stringify({ client_id: documentUrl, ...metadata }));
  });
  documents.listen(port, 'localhost');
  await once(documents, 'listening');
  const file = join(directory, 'authority.pem');
  await writeFile(file, authority.cert);
  return file;
}

/** What a desktop application keeps between its requests. */
class Keeping implements OAuthClientProvider {
  readonly redirectUrl = redirectUrl;
  readonly clientMetadata = metadata;
  address: URL | null = null;
  client: OAuthClientInformationMixed | undefined;
  kept: OAuthTokens | undefined;
  verifier = '';

  clientInformation = () => this.client;
  saveClientInformation = (client: OAuthClientInformationMixed) => void (this.client = client);
  tokens = () => this.kept;
  saveTokens = (tokens: OAuthTokens) => void (this.kept = tokens);
  redirectToAuthorization = (address: URL) => void (this.address = address);
  saveCodeVerifier = (verifier: string) => void (this.verifier = verifier);
  codeVerifier = () => this.verifier;
}

/** The same with an address where it says who it is. */
class KeepingDocument extends Keeping {
  readonly clientMetadataUrl = documentUrl;
}

const transportOf = (keeping: Keeping) => new StreamableHTTPClientTransport(new URL(notes.resource), { authProvider: keeping });

/** Calls a tool with what is kept; the texts of its answer. */
async function call(keeping: Keeping, name: string, parameters: Record<string, unknown> = {}): Promise<string[]> {
  const client = new Client({ name: 'desk', version: '1.0.0' });
  await client.connect(transportOf(keeping));
  try {
    const { content } = (await client.callTool({ name, arguments: parameters })) as { content: { text: string }[] };
    return content.map(({ text }) => text);
  } finally {
    await client.close();
  }
}

/** A first call is refused, the person allows it, and the second one works; the consent page. */
async function signInWith(keeping: Keeping): Promise<string> {
  const transport = transportOf(keeping);
  await expect(new Client({ name: 'desk', version: '1.0.0' }).connect(transport)).rejects.toThrow(UnauthorizedError);
  const browser = new Browser(replica.url);
  await browser.login(person.email, password);
  const html = await (await browser.get((keeping.address as URL).href)).text();
  const request = /name="request" value="([^"]+)"/.exec(html)?.[1] ?? '';
  const answer = await browser.post('/oauth/consent', { _csrf: csrfOf(html), request, decision: 'allow' });
  await transport.finishAuth(locationParameters(answer).get('code') ?? '');
  return html;
}

/** The same tokens, but for an access token that has expired. */
const grownOld = (keeping: Keeping) => void (keeping.kept = { ...(keeping.kept as OAuthTokens), access_token: 'expired' });

async function storyOf(keeping: Keeping, note: string): Promise<string> {
  const html = await signInWith(keeping);
  expect(await call(keeping, 'add-note', { note })).toEqual(['added']);
  const first = keeping.kept as OAuthTokens;
  grownOld(keeping);
  expect(await call(keeping, 'list-notes')).toContain(note);
  expect((keeping.kept as OAuthTokens).access_token).not.toBe('expired');
  expect((keeping.kept as OAuthTokens).access_token).not.toBe(first.access_token);
  return html;
}

test('by registration: it registers itself, a person sees that nobody vouches for it, and it calls tools and refreshes (RFC 7591)', async () => {
  await setEnvironmentOf(api, { client_registration_policy: 'open' });
  const keeping = new Keeping();
  expect(await storyOf(keeping, 'milk')).toContain('Not verified');
  expect(keeping.client).toMatchObject({ client_id: expect.any(String) as string, client_name: 'Desk' });
});

test('by a document: its id is the address of what it says of itself, and nothing is registered (OAuth Client ID Metadata Document)', async () => {
  await setEnvironmentOf(api, { client_id_metadata_documents: 'open', client_registration_policy: 'off' });
  const keeping = new KeepingDocument();
  const html = await storyOf(keeping, 'bread');
  expect(html).toContain('Not verified');
  expect(html).toContain(new URL(documentUrl).host);
  expect(keeping.client).toMatchObject({ client_id: documentUrl });
  expect((await api.get(`/clients/${encodeURIComponent(documentUrl)}`)).body['data']).toMatchObject({
    attributes: { origin: 'metadata_document', verified: false },
  });
});
