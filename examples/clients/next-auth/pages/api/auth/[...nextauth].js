import NextAuth from 'next-auth';

const { ISSUER, CLIENT_ID, CLIENT_SECRET } = process.env;

export default NextAuth({
  providers: [
    {
      id: 'idp',
      name: 'Example',
      type: 'oauth',
      wellKnown: `${ISSUER}/.well-known/openid-configuration`,
      authorization: { params: { scope: 'openid profile email' } },
      idToken: true,
      checks: ['pkce', 'state', 'nonce'],
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      profile: ({ sub, name, email }) => ({ id: sub, name, email }),
    },
  ],
});
