import * as client from 'openid-client';

const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env;
const options = ISSUER.startsWith('http:') ? { execute: [client.allowInsecureRequests] } : {};
const config = await client.discovery(new URL(ISSUER), CLIENT_ID, CLIENT_SECRET, undefined, options);

// Made at each start. A private key that never leaves this process, and tokens that are of use to it alone.
const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair());
const asked = { resource: 'https://ledger.example.org', scope: 'orders:read' };
const { access_token, token_type } = await client.clientCredentialsGrant(config, asked, { DPoP });

const url = new URL('http://localhost:3006/orders');
const answer = await client.fetchProtectedResource(config, access_token, url, 'GET', undefined, undefined, { DPoP });
const stolen = await fetch(url, { headers: { authorization: `DPoP ${access_token}` } });
console.log(JSON.stringify({ token_type, status: answer.status, orders: await answer.json(), without_proof: stolen.status }));
