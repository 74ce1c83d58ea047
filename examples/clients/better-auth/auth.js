import { betterAuth } from 'better-auth';
import { genericOAuth } from 'better-auth/plugins';

const { ISSUER, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET } = process.env;

export const auth = betterAuth({
  baseURL: 'http://localhost:3001',
  secret: SESSION_SECRET,
  plugins: [
    genericOAuth({
      config: [
        {
          providerId: 'idp',
          discoveryUrl: `${ISSUER}/.well-known/openid-configuration`,
          requireIdTokenVerification: true,
          clientId: CLIENT_ID,
          clientSecret: CLIENT_SECRET,
          scopes: ['openid', 'profile', 'email'],
          postLogoutRedirectURI: '/',
        },
      ],
    }),
  ],
});
