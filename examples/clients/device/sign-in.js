import * as oidc from 'openid-client';

const { ISSUER, CLIENT_ID } = process.env;
const options = ISSUER.startsWith('http:') ? { execute: [oidc.allowInsecureRequests] } : {};
const config = await oidc.discovery(new URL(ISSUER), CLIENT_ID, {}, oidc.None(), options);

const started = await oidc.initiateDeviceAuthorization(config, { scope: 'openid profile email offline_access' });
console.log(`Go to ${started.verification_uri} and type ${started.user_code}`);
console.log(`Open ${started.verification_uri_complete}`);

// Asks every five seconds, and slower when it is told so, until the person has answered.
const tokens = await oidc.pollDeviceAuthorizationGrant(config, started);
const person = await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
console.log(`Hello ${person.name}, ${person.email}`);
