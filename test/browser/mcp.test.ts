// The official MCP SDK in a browser: a page of another origin registers itself, signs somebody in and calls a tool of examples/mcp-server.
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect } from 'vitest';
import { sharedChromium, signInAt } from '../support/chromium.js';
import { addUser, password } from '../support/data.js';
import { manage, startManagedService } from '../support/management.js';
import { clientMetadata, setEnvironmentOf, startNotes, type Notes } from '../support/mcp.js';
import { needs } from '../support/programs.js';
import { freePort, type TestService } from '../support/service.js';

const test = needs('chromium');
const chromium = sharedChromium();

let service: TestService;
let person: { readonly id: string; readonly email: string };
let notes: Notes;
let pages: Server;
let origin: string;

/** The page's program: what it keeps outlives the way to the service and back. */
const program = `
  import { Client } from '@modelcontextprotocol/sdk/client/index.js';
  import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
  import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

  const { resource, metadata } = JSON.parse(document.getElementById('settings').textContent);
  const kept = (name) => JSON.parse(sessionStorage.getItem(name) ?? 'null') ?? undefined;
  const keep = (name, value) => sessionStorage.setItem(name, JSON.stringify(value));
  const authProvider = {
    redirectUrl: location.origin + '/',
    clientMetadata: metadata,
    clientInformation: () => kept('client'),
    saveClientInformation: (client) => keep('client', client),
    tokens: () => kept('tokens'),
    saveTokens: (tokens) => keep('tokens', tokens),
    redirectToAuthorization: (address) => location.assign(address),
    saveCodeVerifier: (verifier) => keep('verifier', verifier),
    codeVerifier: () => kept('verifier'),
  };
  const transport = () => new StreamableHTTPClientTransport(new URL(resource), { authProvider });
  const said = (text) => (document.getElementById('said').textContent = text);

  try {
    const code = new URL(location.href).searchParams.get('code');
    if (code) await transport().finishAuth(code);
    const client = new Client({ name: 'page', version: '1.0.0' });
    await client.connect(transport());
    const { content } = await client.callTool({ name: 'add-note', arguments: { note: 'milk' } });
    said('The tool says: ' + content[0].text);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) said('It failed: ' + error);
  }
`;

beforeAll(async () => {
  service = await startManagedService();
  person = await addUser(await service.context());
  const api = await manage(service.url);
  notes = await startNotes(api, person.id);
  await setEnvironmentOf(api, { client_registration_policy: 'open' });
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: import.meta.dirname, loader: 'js' },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  });
  const script = outputFiles[0]?.text ?? '';
  const port = await freePort();
  origin = `http://localhost:${port}`;
  const settings = JSON.stringify({ resource: notes.resource, metadata: clientMetadata(`${origin}/`) });
  pages = createServer((req, res) => {
    if (req.url === '/page.js') return void res.setHeader('content-type', 'text/javascript').end(script);
    const body = `<title>Page</title><p id="said"></p><script id="settings" type="application/json">${settings}</script>`;
    res.setHeader('content-type', 'text/html').end(`<!doctype html>${body}<script type="module" src="/page.js"></script>`);
  });
  pages.listen(port, 'localhost');
  await once(pages, 'listening');
});
afterAll(async () => {
  pages?.close();
  notes?.stop();
  await service?.stop();
});

test('a page that nobody registered signs its person in and calls a tool (RFC 9728, RFC 7591)', { timeout: 120_000 }, async () => {
  const context = await chromium.newContext({ locale: 'en-GB' });
  const page = await context.newPage();
  await signInAt(page, service.url, person.email, password);
  await page.waitForURL(/\/account/);
  await page.goto(origin);
  await page.getByText('Not verified').waitFor();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL(`${origin}/**`);
  await expect.poll(() => page.locator('#said').textContent(), { timeout: 30_000 }).toBe('The tool says: added');
  await context.close();
});
