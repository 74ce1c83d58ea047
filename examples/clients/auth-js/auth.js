const { ISSUER, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET } = process.env;

export const config = {
  secret: SESSION_SECRET,
  trustHost: true,
  providers: [
    {
      id: 'idp',
      name: 'Example',
      type: 'oidc',
      issuer: ISSUER,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      checks: ['pkce', 'state', 'nonce'],
    },
  ],
};
