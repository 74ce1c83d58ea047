import { PublicClientApplication } from '@azure/msal-browser';

const { VITE_ISSUER, VITE_CLIENT_ID } = import.meta.env;
const home = `${location.origin}/`;

const msal = new PublicClientApplication({
  auth: {
    clientId: VITE_CLIENT_ID,
    authority: VITE_ISSUER,
    knownAuthorities: [new URL(VITE_ISSUER).host],
    redirectUri: home,
    postLogoutRedirectUri: home,
    OIDCOptions: { defaultScopes: ['openid', 'profile', 'email'] },
  },
  system: { protocolMode: 'OIDC' },
});

function button(label, press) {
  const made = document.createElement('button');
  made.append(label);
  made.addEventListener('click', press);
  return made;
}

await msal.initialize();
await msal.handleRedirectPromise(); // back from the service, after signing in or out
const [account] = msal.getAllAccounts();
if (account) {
  const { name, email } = account.idTokenClaims;
  document.body.append(
    `Hello ${name}, ${email} `,
    button('Sign out', () => msal.logoutRedirect({ account, idTokenHint: account.idToken })),
  );
} else {
  document.body.append(button('Sign in', () => msal.loginRedirect()));
}
