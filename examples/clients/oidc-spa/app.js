import { createOidc } from 'oidc-spa/core';

const oidc = await createOidc({
  issuerUri: import.meta.env.VITE_ISSUER,
  clientId: import.meta.env.VITE_CLIENT_ID,
  scopes: ['profile', 'email'],
});

function button(label, press) {
  const made = document.createElement('button');
  made.append(label);
  made.addEventListener('click', press);
  return made;
}

if (oidc.isUserLoggedIn) {
  const { name, email } = oidc.getDecodedIdToken();
  document.body.append(
    `Hello ${name}, ${email} `,
    button('Sign out', () => oidc.logout({ redirectTo: 'home' })),
  );
} else {
  document.body.append(button('Sign in', () => oidc.login()));
}
