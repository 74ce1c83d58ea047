// The guides for JavaScript: Node.js, then pages without a server.
import { fromPackage, signInAndOut, type Trial } from './trial.js';

const node = { programs: ['npm'], url: 'http://localhost:3001/', visit: { signOut: 'provider' }, shows: signInAndOut } as const;
const page = { ...node, url: 'http://localhost:3002/', shows: `${signInAndOut}, without a server` };

export const javaScriptTrials: readonly Trial[] = [
  { ...node, name: 'express-openid-connect', title: 'express-openid-connect', version: fromPackage('express-openid-connect') },
  {
    ...node,
    name: 'next-auth',
    title: 'NextAuth.js 4 (Next.js)',
    visit: { signOut: 'application' },
    version: fromPackage('next-auth'),
    shows: 'sign in, name and email address, sign out of the application',
  },
  { ...node, name: 'better-auth', title: 'Better Auth', version: fromPackage('better-auth') },
  { ...node, name: 'hono', title: 'Hono', version: fromPackage('@hono/oidc-auth') },
  { ...page, name: 'oidc-client-ts', title: 'oidc-client-ts', version: fromPackage('oidc-client-ts') },
  { ...page, name: 'oidc-spa', title: 'oidc-spa', version: fromPackage('oidc-spa') },
  {
    ...page,
    name: 'angular-oauth2-oidc',
    title: 'angular-oauth2-oidc',
    url: 'http://localhost:4200/',
    version: fromPackage('angular-oauth2-oidc'),
  },
  { ...page, name: 'msal-browser', title: 'MSAL.js', scheme: 'https', version: fromPackage('@azure/msal-browser') },
];
