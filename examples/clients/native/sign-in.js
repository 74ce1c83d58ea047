import { createServer } from 'node:http';
import { on, once } from 'node:events';
import * as oidc from 'openid-client';

const { ISSUER, CLIENT_ID } = process.env;
const options = ISSUER.startsWith('http:') ? { execute: [oidc.allowInsecureRequests] } : {};
const config = await oidc.discovery(new URL(ISSUER), CLIENT_ID, {}, oidc.None(), options);

// Port 0: any that is free. The registered address has none, and fits every port.
const server = createServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const redirect_uri = `http://127.0.0.1:${server.address().port}/callback`;

const [code_verifier, state] = [oidc.randomPKCECodeVerifier(), oidc.randomState()];
const code_challenge = await oidc.calculatePKCECodeChallenge(code_verifier);
const scope = 'openid profile email';
const parameters = { redirect_uri, scope, state, code_challenge, code_challenge_method: 'S256' };
console.log(`Open ${oidc.buildAuthorizationUrl(config, parameters)}`);

for await (const [request, response] of on(server, 'request')) {
  const address = new URL(request.url, redirect_uri);
  if (address.pathname !== '/callback') {
    response.writeHead(404).end();
    continue;
  }
  const tokens = await oidc.authorizationCodeGrant(config, address, { pkceCodeVerifier: code_verifier, expectedState: state });
  const person = await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
  response.end('You are signed in. You can close this page.');
  console.log(`Hello ${person.name}, ${person.email}`);
  break;
}
server.close();
server.closeAllConnections();
