import { UserManager } from 'oidc-client-ts';

const { VITE_ISSUER, VITE_CLIENT_ID } = import.meta.env;
const home = `${location.origin}/`;

const manager = new UserManager({
  authority: VITE_ISSUER,
  client_id: VITE_CLIENT_ID,
  redirect_uri: home,
  post_logout_redirect_uri: home,
  scope: 'openid profile email',
});

function button(label, press) {
  const made = document.createElement('button');
  made.append(label);
  made.addEventListener('click', press);
  return made;
}

if (new URLSearchParams(location.search).has('state')) {
  // Back from the service, after signing in or out.
  await manager.signinCallback();
  history.replaceState(null, '', home); // the code is nobody else's business
}
const user = await manager.getUser();
if (user) {
  document.body.append(
    `Hello ${user.profile.name}, ${user.profile.email} `,
    button('Sign out', () => manager.signoutRedirect()),
  );
} else {
  document.body.append(button('Sign in', () => manager.signinRedirect()));
}
