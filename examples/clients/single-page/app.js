import * as oidc from 'openid-client';

const { VITE_ISSUER, VITE_CLIENT_ID } = import.meta.env;
const home = `${location.origin}/`;

// Plain http is for an issuer on this machine alone.
const options = VITE_ISSUER.startsWith('http:') ? { execute: [oidc.allowInsecureRequests] } : {};
const config = await oidc.discovery(new URL(VITE_ISSUER), VITE_CLIENT_ID, {}, oidc.None(), options);

async function signIn() {
  const [code_verifier, state, nonce] = [oidc.randomPKCECodeVerifier(), oidc.randomState(), oidc.randomNonce()];
  sessionStorage.setItem('pending', JSON.stringify({ code_verifier, state, nonce }));
  const code_challenge = await oidc.calculatePKCECodeChallenge(code_verifier);
  const scope = 'openid profile email';
  const parameters = { redirect_uri: home, scope, state, nonce, code_challenge, code_challenge_method: 'S256' };
  location.assign(oidc.buildAuthorizationUrl(config, parameters));
}

/** The tokens stay in this variable: gone with the page, out of reach of other pages. */
async function tokensOfThisPage() {
  const pending = JSON.parse(sessionStorage.getItem('pending'));
  if (!pending || !new URLSearchParams(location.search).has('state')) return null;
  sessionStorage.removeItem('pending');
  const address = new URL(location.href);
  history.replaceState(null, '', home); // the code is nobody else's business
  return oidc.authorizationCodeGrant(config, address, {
    pkceCodeVerifier: pending.code_verifier,
    expectedState: pending.state,
    expectedNonce: pending.nonce,
  });
}

function button(label, press) {
  const made = document.createElement('button');
  made.append(label);
  made.addEventListener('click', press);
  return made;
}

const tokens = await tokensOfThisPage();
if (tokens) {
  const person = await oidc.fetchUserInfo(config, tokens.access_token, tokens.claims().sub);
  const goodbye = { id_token_hint: tokens.id_token, post_logout_redirect_uri: home };
  const signOut = () => location.assign(oidc.buildEndSessionUrl(config, goodbye));
  document.body.append(`Hello ${person.name}, ${person.email} `, button('Sign out', signOut));
} else {
  document.body.append(button('Sign in', signIn));
}
