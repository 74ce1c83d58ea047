// An MCP server whose callers sign in at the identity provider. It knows three addresses and no secret:
//   ISSUER        the identity provider
//   RESOURCE      its own address, which is the identifier of its API resource: http://localhost:3004/mcp
//   METADATA_URL  the API resource's `metadata_url`: the provider hosts the metadata (RFC 9728), so nothing of it is written here
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import cors from 'cors';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { z } from 'zod';

const { ISSUER, RESOURCE, METADATA_URL } = process.env;
const { pathname, port } = new URL(RESOURCE);
const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`));

/** What the SDK wants to know of a token that is good here; for any other it throws. */
async function verifyAccessToken(token) {
  const verified = await jwtVerify(token, keys, { issuer: ISSUER, audience: RESOURCE, typ: 'at+jwt' }).catch((error) => {
    throw new InvalidTokenError(error.message);
  });
  const { sub, client_id, scope = '', exp, aud } = verified.payload;
  return { token, clientId: client_id, scopes: scope.split(' '), expiresAt: exp, resource: new URL(aud), extra: { sub } };
}

const notes = new Map();
const text = (words) => ({ type: 'text', text: words });

/** A tool that whoever is signed in may use only with the permission. */
const needs =
  (permission, tool) =>
  (input, { authInfo }) =>
    authInfo.scopes.includes(permission)
      ? tool(authInfo.extra.sub, input)
      : { isError: true, content: [text(`${permission} was not allowed`)] };

/** The tools, for one request. */
function createTools() {
  const server = new McpServer({ name: 'notes', version: '1.0.0' });
  server.registerTool(
    'list-notes',
    { description: 'The notes of whoever is signed in', inputSchema: {} },
    needs('notes:read', (sub) => ({ content: (notes.get(sub) ?? []).map(text) })),
  );
  server.registerTool(
    'add-note',
    { description: 'Adds a note', inputSchema: { note: z.string().max(1000) } },
    needs('notes:write', (sub, { note }) => {
      notes.set(sub, [...(notes.get(sub) ?? []), note]);
      return { content: [text('added')] };
    }),
  );
  return server;
}

const signedIn = requireBearerAuth({
  verifier: { verifyAccessToken },
  resourceMetadataUrl: METADATA_URL,
  expectedResource: new URL(RESOURCE),
});

const app = createMcpExpressApp();
// Clients in a browser may ask too: nothing here goes by cookies.
app.use(cors({ exposedHeaders: ['WWW-Authenticate', 'Mcp-Session-Id', 'Mcp-Protocol-Version'] }));
// Clients that haven't been refused yet, or that forgot where they were sent, look here (RFC 9728 3.1).
app.get(`/.well-known/oauth-protected-resource${pathname}`, async (req, res) => res.json(await (await fetch(METADATA_URL)).json()));
app.post(pathname, signedIn, async (req, res) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  const tools = createTools();
  res.on('close', () => void tools.close());
  await tools.connect(transport);
  await transport.handleRequest(req, res, req.body);
});
// Every call is one POST: there is no session to listen to or to end.
app.all(pathname, signedIn, (req, res) => res.status(405).set('Allow', 'POST').end());
app.listen(Number(port), 'localhost', () => console.log(`MCP server at ${RESOURCE}`));
