import { errorTexts } from '../../src/http/error-texts.js';
import { basePage, type BasePage, type BrandedEnvironment, type PageModels } from '../../src/http/pages.js';

/** A page with a model that fits it. */
export type SamplePage = { [View in keyof PageModels]: { view: View; model: PageModels[View] } }[keyof PageModels];

const acme: BrandedEnvironment = {
  name: 'Acme',
  kind: 'production',
  support_email: 'help@acme.example',
  branding: { name: 'Acme', logo_url: null, primary_color: '#0f6b4f' },
};

const logo =
  'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 32"%3E%3Ccircle cx="16" cy="16" r="14" fill="%23e4572e"/%3E%3Cpath d="M48 10h60M48 22h40" stroke="%23888" stroke-width="5"/%3E%3C/svg%3E';
const withLogo: BrandedEnvironment = { ...acme, branding: { name: 'Acme', logo_url: logo, primary_color: '#f2c230' } };
const development: BrandedEnvironment = { name: 'Default', kind: 'development', support_email: null, branding: null };

const notes = { name: 'Acme Notes', logo_uri: null };

function base(title: string, environment: BrandedEnvironment = acme): BasePage {
  return basePage(environment, { title, request_id: '019ab3c2-7e41-7c55-9d0a-3f1b2c4d5e6f', csrf_token: 'csrf-sample' });
}

const connections: PageModels['account/login']['connections'] = [
  { id: '0190-google', display_name: 'Google', strategy: 'google' },
  { id: '0190-microsoft', display_name: 'Microsoft', strategy: 'microsoft' },
  { id: '0190-github', display_name: 'GitHub', strategy: 'github' },
  { id: '0190-apple', display_name: 'Apple', strategy: 'apple' },
  { id: '0190-oidc', display_name: 'Example Corporation', strategy: 'oidc' },
];

const login = { client: null, return_to: '', connections: [], registration_enabled: true };

const samples: Record<string, SamplePage> = {
  login: { view: 'account/login', model: { ...base('Sign in'), ...login } },
  'login-client': {
    view: 'account/login',
    model: {
      ...base('Sign in to Acme Notes', withLogo),
      ...login,
      client: notes,
      return_to: '/oauth/authorize?client_id=1',
      connections: connections.slice(0, 3).map((connection, index) => ({ ...connection, last_used: index === 0 })),
    },
  },
  'login-connections': { view: 'account/login', model: { ...base('Sign in', development), ...login, connections } },
  'login-failed': {
    view: 'account/login',
    model: {
      ...base('Sign in to Acme Notes'),
      ...login,
      client: notes,
      values: { email: 'ada@example.com' },
      errors: { form: errorTexts.invalid_credentials },
    },
  },
  'login-invalid': {
    view: 'account/login',
    model: {
      ...base('Sign in', development),
      ...login,
      errors: { email: errorTexts.invalid_email, password: errorTexts.required },
      values: { email: 'ada@' },
    },
  },
  'login-notice': {
    view: 'account/login',
    model: {
      ...base('Sign in'),
      ...login,
      notice: { tone: 'good', text: 'Your password has been changed. Sign in with the new one.' },
      values: { email: 'ada@example.com' },
    },
  },
  error: {
    view: 'error',
    model: {
      ...base('This sign-in cannot continue'),
      status: 400,
      code: 'invalid_redirect_uri',
      text: 'The application that sent you here asked us to send you back to an address it has not registered.',
      next_step: 'Go back to the application and try again. If it happens again, tell its makers.',
      next: null,
    },
  },
  'error-next': {
    view: 'error',
    model: {
      ...base('We could not sign you in'),
      status: 400,
      code: 'sso_state_mismatch',
      text: 'This sign-in was started in another browser, or too long ago.',
      next_step: 'Start again from the sign-in page.',
      next: { href: '/login', label: 'Go to sign-in' },
    },
  },
};

export const samplePages = new Map(Object.entries(samples));
