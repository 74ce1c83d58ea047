import { expect, test } from 'vitest';
import { brandOf, type BrandedClient, type BrandedEnvironment } from '../../../src/domain/environments/branding.js';

const environment: BrandedEnvironment = {
  name: 'Default',
  kind: 'production',
  support_email: 'help@acme.example',
  branding: {
    name: 'Acme',
    logo_url: 'https://acme.example/logo.svg',
    dark_logo_url: 'https://acme.example/dark.svg',
    primary_color: '#112233',
    policy_uri: 'https://acme.example/privacy',
  },
};
const noTheme = {
  primary_color: null,
  dark_primary_color: null,
  background_color: null,
  dark_background_color: null,
  corner_radius: null,
  font: null,
};
const client = (more: Partial<BrandedClient>): BrandedClient => ({
  branding: {},
  policy_uri: null,
  tos_uri: null,
  verified: true,
  ...more,
});

test('without a client, and with one that says nothing, it is the environment’s', () => {
  const brand = {
    name: 'Acme',
    logo_url: 'https://acme.example/logo.svg',
    dark_logo_url: 'https://acme.example/dark.svg',
    favicon_url: null,
    theme: { ...noTheme, primary_color: '#112233' },
    support_email: 'help@acme.example',
    policy_uri: 'https://acme.example/privacy',
    tos_uri: null,
  };
  expect(brandOf(environment)).toEqual(brand);
  expect(brandOf(environment, client({}))).toEqual(brand);
  expect(brandOf({ ...environment, branding: null, support_email: null })).toMatchObject({
    name: 'Default',
    logo_url: null,
    theme: noTheme,
  });
});

test('a client’s colour, support address and links stand beside the environment’s name and logos', () => {
  const branding = { primary_color: '#445566', support_email: 'notes@acme.example' };
  const tos_uri = 'https://notes.example/terms';
  expect(brandOf(environment, client({ branding, tos_uri }))).toMatchObject({
    name: 'Acme',
    logo_url: 'https://acme.example/logo.svg',
    theme: { ...noTheme, primary_color: '#445566' },
    support_email: 'notes@acme.example',
    policy_uri: 'https://acme.example/privacy',
    tos_uri,
  });
});

test('a client’s name never stands beside the environment’s logos, nor its logo beside the dark one of the environment', () => {
  expect(brandOf(environment, client({ branding: { name: 'Notes' } }))).toMatchObject({
    name: 'Notes',
    logo_url: null,
    dark_logo_url: null,
  });
  const logo_url = 'https://notes.example/logo.svg';
  expect(brandOf(environment, client({ branding: { logo_url } }))).toMatchObject({ name: 'Acme', logo_url, dark_logo_url: null });
});

test('a client’s corners and font are its own, also square ones; a colour and its dark variant come from one of them', () => {
  const theme = {
    ...environment,
    branding: { primary_color: '#112233', dark_primary_color: '#aabbcc', corner_radius: 12, font: 'serif' },
  } as const;
  expect(brandOf(theme, client({ branding: { primary_color: '#445566', corner_radius: 0 } })).theme).toEqual({
    ...noTheme,
    primary_color: '#445566',
    corner_radius: 0,
    font: 'serif',
  });
  expect(brandOf(theme, client({ branding: { background_color: '#ffffff' } })).theme).toMatchObject({
    primary_color: '#112233',
    dark_primary_color: '#aabbcc',
    background_color: '#ffffff',
  });
});

test('a client that nobody vouches for looks like the environment, whatever it says (attack 30.768)', () => {
  const theirs = client({
    verified: false,
    branding: { name: 'Your Bank', logo_url: 'https://evil.example/bank.svg', support_email: 'help@evil.example' },
    policy_uri: 'https://evil.example/privacy',
  });
  expect(brandOf(environment, theirs)).toEqual(brandOf(environment));
});
