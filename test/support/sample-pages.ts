import '../../src/oauth/approvals/page-models.js';
import '../../src/oauth/device/page-models.js';
import '../../src/account/recovery-codes-page.js';
import '../../src/account/totp.js';
import '../../src/http/confirmation/ask-to-confirm.js';
import '../../src/account/sign-in/email-code.js';
import '../../src/account/sign-in/enroll-page.js';
import '../../src/account/sign-in/verify-page.js';
import '../../src/sso/page-models.js';
import { heldNames, ownNames } from '../../src/http/confirmation/confirmation.js';
import { errorTexts } from '../../src/http/pages/error-texts.js';
import { qrImage } from '../../src/http/pages/qr.js';
import { builtInText } from '../../src/domain/mail/built-in.js';
import { renderMail, type MailModels } from '../../src/domain/mail/templates.js';
import { profileFields, type ProfileField } from '../../src/http/pages/page-models.js';
import { scopeText } from '../../src/http/pages/scope-texts.js';
import { wordsIn } from '../../src/http/pages/words.js';
import type { BrandedEnvironment } from '../../src/domain/environments/branding.js';
import { basePage, type BasePage, type PageModels } from '../../src/http/pages/pages.js';

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

const base = (title: string, environment: BrandedEnvironment = acme): BasePage =>
  basePage(environment, { title, request_id: '019ab3c2-7e41-7c55-9d0a-3f1b2c4d5e6f', csrf_token: 'csrf-sample' });

const connections: PageModels['account/login']['connections'] = [
  { id: '0190-google', display_name: 'Google', strategy: 'google' },
  { id: '0190-microsoft', display_name: 'Microsoft', strategy: 'microsoft' },
  { id: '0190-github', display_name: 'GitHub', strategy: 'github' },
  { id: '0190-apple', display_name: 'Apple', strategy: 'apple' },
  { id: '0190-oidc', display_name: 'Example Corporation', strategy: 'oidc' },
];

const passkey = {
  rp_id: 'acme.example',
  options_path: '/login/passkey/options',
  options: JSON.stringify({ rpId: 'acme.example', timeout: 300_000 }),
  elsewhere: null,
};
const secondStep = {
  action: '/login/verify',
  email_action: '/login/verify/email',
  hidden: { return_to: '/oauth/authorize?client_id=1', acr_values: '' },
  methods: ['totp', 'passkey', 'email', 'recovery_code'],
  method: 'totp',
  email: 'ada@example.com',
  sent: false,
  remember_days: 30,
  passkey: null,
} as const;
const loginVerify = {
  client: notes,
  email: 'ada@example.com',
  expires_at: '2026-11-21T09:15:00.000Z',
  return_to: '/oauth/authorize?client_id=1',
};

const login = { client: null, return_to: '', connections: [], registration_enabled: true };

const verify = {
  registration_id: '019ab3c2',
  email: 'ada@example.com',
  expires_at: '2026-11-21T09:15:00.000Z',
  return_to: '/oauth/authorize?client_id=1',
};
const complete = { registration_token: 'sample', email: 'ada@example.com', password_min_length: 8, return_to: '' };
const ada = { email: 'ada@example.com', name: 'Ada Lovelace' };

const otpauth_uri =
  'otpauth://totp/Acme:ada%40example.com?issuer=Acme&secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&algorithm=SHA1&digits=6&period=30';

const totpPage: PageModels['account/totp'] = {
  ...base('Add an authenticator app'),
  action: '/account/authenticators/totp/verify',
  hidden: { authenticator_id: '019ab3c2' },
  qr: await qrImage(otpauth_uri),
  secret: 'JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP',
  otpauth_uri,
  issuer: 'Acme',
  email: 'ada@example.com',
  expires_at: '2026-11-21T09:15:00.000Z',
  back: { href: '/account', label: 'Back to your account' },
};

const times = { created_at: '2026-11-01T08:00:00.000Z', last_used_at: '2026-11-20T08:00:00.000Z' };

const signInMethods: NonNullable<PageModels['account/account']['sign_in_methods']> = {
  passkey: { rp_id: 'acme.example', options_path: '/account/authenticators/passkey/options', options: null, elsewhere: null },
  totp: true,
  authenticators: [
    { id: 'a1', kind: 'passkey', name: 'Chrome on macOS', ...times, codes_left: null },
    { id: 'a2', kind: 'totp', name: 'Authenticator app', ...times, last_used_at: null, codes_left: null },
    { id: 'a3', kind: 'recovery_codes', name: 'Recovery codes', ...times, codes_left: 2 },
  ],
  has_factor: true,
  two_step_enabled: true,
  devices: [
    {
      id: 'd1',
      device: 'Chrome on macOS',
      ip_address: '203.0.113.5',
      last_used_at: times.last_used_at,
      expires_at: '2026-12-20T08:00:00.000Z',
    },
    { id: 'd2', device: 'Firefox on Linux', ip_address: null, last_used_at: times.last_used_at, expires_at: '2026-12-01T08:00:00.000Z' },
  ],
  signal: { rp_id: 'id.example', user_id: 'AZqzwg', credential_ids: ['abc'] },
};

const invitation = {
  path: '/invitations/in_sample',
  organization: { name: 'Acme Ltd', logo_url: null },
  inviter: 'Bob Babbage',
  email: 'ada@example.com',
  user_email: null,
};

const setup = {
  path: '/setup/019ab3c2-0000-7000-8000-000000000150',
  service: 'Acme',
  steps: [
    { part: 'domains' as const, done: true },
    { part: 'connection' as const, done: false },
    { part: 'directory' as const, done: false },
  ],
  expires_at: '2026-11-28T09:05:00.000Z',
};

const setupGuide = {
  provider: 'okta',
  name: 'Okta',
  protocol: 'saml' as const,
  place: 'Applications › Create App Integration › SAML 2.0',
  values: [
    ['Single sign-on URL', 'https://id.example/auth/sso/019ab3c2-0000-7000-8000-000000000150/callback'],
    ['Name ID format', 'EmailAddress'],
  ] as const,
  fields: { idp_metadata_url: 'Sign On › Metadata URL' },
};

const setupConnection = {
  ...setup,
  guide: setupGuide,
  choices: [
    { value: 'okta', label: 'Okta' },
    { value: 'other', label: 'Another provider' },
  ],
  connection: null,
};

const details = [
  { name: 'detail_0', text: 'Pay \u2068€123.50\u2069 to \u2068Muster GmbH\u2069', lang: 'en' as const, dir: 'ltr' as const },
  { name: 'detail_1', text: 'ادفع \u2068123.50 €\u2069 إلى \u2068Muster GmbH\u2069', lang: 'ar' as const, dir: 'rtl' as const },
];
const asked = {
  id: '0195e8a2-6f00-7000-8000-000000000151',
  client_id: 'assistant',
  name: 'Acme Assistant',
  binding_message: 'Pay 49.90 EUR to Acme Travel',
  details,
  path: '/approvals/0195e8a2-6f00-7000-8000-000000000151',
  requested_at: '2026-11-21T09:05:00.000Z',
  expires_at: '2026-11-21T09:15:00.000Z',
};
const account = {
  user: { ...ada, email_verified: true, phone_number_verified: false },
  values: {
    ...(Object.fromEntries(profileFields.map((name) => [name, null])) as Record<ProfileField, null>),
    first_name: 'Ada',
    last_name: 'Lovelace',
  },
  has_password: true,
  password_min_length: 8,
  email_managed_by: null,
  kept_until: '2026-12-21T09:05:00.000Z',
  sessions: [
    {
      id: 's1',
      device: 'Chrome on macOS',
      ip_address: '203.0.113.5',
      created_at: '2026-11-20T08:00:00.000Z',
      last_activity_at: '2026-11-21T09:05:00.000Z',
      current: true,
    },
    {
      id: 's2',
      device: 'Safari on iOS',
      ip_address: '2001:db8:85a3:8d3:1319:8a2e:370:7348',
      created_at: '2026-11-01T08:00:00.000Z',
      last_activity_at: '2026-11-19T21:40:00.000Z',
      current: false,
    },
    {
      id: 's3',
      device: 'Unknown device',
      ip_address: null,
      created_at: '2026-11-01T08:00:00.000Z',
      last_activity_at: '2026-10-02T06:12:00.000Z',
      current: false,
    },
  ],
  connections: connections.slice(2, 4),
  identities: [
    {
      id: 'i1',
      connection_id: 'c1',
      proven: true,
      display_name: 'Google',
      strategy: 'google' as const,
      email: 'ada@gmail.example',
      linked_at: '2026-03-02T10:00:00.000Z',
    },
    {
      id: 'i2',
      connection_id: 'c2',
      proven: false,
      display_name: 'Example Corporation',
      strategy: 'oidc' as const,
      email: null,
      linked_at: '2026-05-12T10:00:00.000Z',
    },
  ],
  applications: [
    {
      client_id: 'notes',
      name: 'Acme Notes',
      logo_uri: null,
      scopes: ['openid', 'profile', 'email'].map((scope) => scopeText(wordsIn('en'), scope)),
      granted_at: '2026-02-01T10:00:00.000Z',
      open_url: 'https://notes.example/sign-in?iss=https%3A%2F%2Fid.example',
    },
    {
      client_id: 'calendar',
      name: 'Calendar',
      logo_uri: null,
      scopes: [scopeText(wordsIn('en'), 'openid')],
      granted_at: '2026-08-01T10:00:00.000Z',
      open_url: null,
    },
  ],
  sign_ins: [
    { occurred_at: '2026-11-21T08:58:00.000Z', succeeded: true, count: 1, device: 'Chrome on macOS', ip_address: '203.0.113.5' },
    { occurred_at: '2026-11-21T08:57:00.000Z', succeeded: false, count: 2, device: 'Chrome on macOS', ip_address: '203.0.113.5' },
  ],
  organizations: [
    {
      id: '019ab3c2-0000-7000-8000-000000000141',
      display_name: 'Acme Ltd',
      logo_url: null,
      status: 'active' as const,
      joined_at: '2026-10-02T06:12:00.000Z',
    },
    {
      id: '019ab3c2-0000-7000-8000-000000000142',
      display_name: 'Northwind',
      logo_url: null,
      status: 'suspended' as const,
      joined_at: '2026-11-02T06:12:00.000Z',
    },
  ],
  approvals: [asked],
  own_applications: [
    { client_id: 'wiki', name: 'Wiki', logo_uri: null, open_url: 'https://wiki.example/sign-in?iss=https%3A%2F%2Fid.example' },
  ],
};

const approval = {
  details: [] as typeof details,
  unverified: null,
  client: { name: 'Acme TV', is_agent: false, logo_uri: null, policy_uri: null, tos_uri: null },
  user: ada,
  scopes: ['openid', 'profile', 'offline_access'].map((name) => ({ name, text: scopeText(wordsIn('en'), name) })),
  organization: null,
  user_code: 'WDJB-MJHT',
  device: { ip_address: '203.0.113.7', same_network: true, requested_at: '2026-11-21T09:05:00.000Z' },
  action: '/device/answer',
  hidden: { question: 'sealed' },
};
const elsewhere = {
  details,
  unverified: null,
  client: { name: 'Acme Assistant', is_agent: true, logo_uri: null, policy_uri: null, tos_uri: null },
  user: ada,
  binding_message: asked.binding_message,
  organization: 'Acme Ltd',
  scopes: ['openid', 'profile'].map((name) => ({ name, text: scopeText(wordsIn('en'), name) })),
  ip_address: '203.0.113.7',
  requested_at: asked.requested_at,
  expires_at: asked.expires_at,
  action: asked.path,
  hidden: {},
};
const authorization = {
  is_agent: false,
  logo_uri: null,
  open_url: null,
  access: [{ api: 'Notes', scopes: ['Read your notes'] }],
  provider_accounts: [{ provider: 'Google', scopes: ['calendar.readonly'] }],
  details: [],
  origin: 'person' as 'person' | 'administrator' | 'employer' | 'approval',
  approvals: [],
  blocked_by: null as 'person' | 'administrator' | null,
  granted_at: '2026-03-02T10:00:00.000Z',
  last_used_at: '2026-11-20T08:00:00.000Z',
};

const consent = {
  client: { ...notes, is_agent: true, policy_uri: 'https://notes.example/privacy', tos_uri: 'https://notes.example/terms' },
  destination: { name: 'notes.example', address: null },
  user: ada,
  scopes: [
    ...['openid', 'profile', 'email', 'offline_access'].map((name) => ({ name, text: scopeText(wordsIn('en'), name) })),
    { name: 'notes:write', text: scopeText(wordsIn('en'), 'notes:write', 'Change and delete your notes') },
  ],
  details: [],
  unverified: null,
  action: '/oauth/authorize/consent',
  hidden: { request: 'sealed' },
};

const request = { ip_address: '203.0.113.5', device: { name: 'Chrome', system: 'macOS' }, at: '2026-11-21T09:05:00.000Z' };
const builtInMail = <Name extends keyof MailModels>(name: Name, model: MailModels[Name]) =>
  renderMail(name, model, builtInText(name, 'en'), 'en');
const mailSender = { name: 'Default', support_email: null };
export const messages = [
  {
    id: 'm2',
    to: 'ada@example.com',
    created_at: '2026-11-21T09:05:00.000Z',
    code: '482913',
    ...builtInMail('password_reset_code', {
      environment: mailSender,
      code: '482913',
      expires_in: 600,
      reset_url: 'http://localhost:3000/password/reset?reset_id=019ab3c2&code=482913',
      request,
    }),
  },
  {
    id: 'm1',
    to: 'grace@example.com',
    created_at: '2026-11-20T19:30:00.000Z',
    code: '104285',
    ...builtInMail('register_code', { environment: mailSender, code: '104285', expires_in: 600, request }),
  },
];

const page = <View extends keyof PageModels>(
  view: View,
  top: BasePage,
  model: Omit<PageModels[View], keyof BasePage> & Partial<BasePage>,
): SamplePage => ({ view, model: { ...top, ...model } }) as unknown as SamplePage;

const samples: Record<string, SamplePage> = {
  login: page('account/login', base('Sign in'), login),
  'login-client': page('account/login', base('Sign in to Acme Notes', withLogo), {
    ...login,
    client: notes,
    return_to: '/oauth/authorize?client_id=1',
    connections: connections.slice(0, 3).map((connection, index) => ({ ...connection, last_used: index === 0 })),
  }),
  'login-device': page('account/login', base('Sign in to connect a device'), { ...login, return_to: '/device?user_code=WDJB-MJHT' }),
  'login-connections': page('account/login', base('Sign in', development), { ...login, connections }),
  'login-failed': page('account/login', base('Sign in to Acme Notes'), {
    ...login,
    client: notes,
    values: { email: 'ada@example.com' },
    errors: { form: errorTexts.invalid_credentials },
  }),
  'login-invalid': page('account/login', base('Sign in', development), {
    ...login,
    errors: { email: errorTexts.invalid_email, password: errorTexts.required },
    values: { email: 'ada@' },
  }),
  'login-notice': page('account/login', base('Sign in'), {
    ...login,
    notice: { tone: 'good', text: 'Your password has been changed. Sign in with the new one.' },
    values: { email: 'ada@example.com' },
  }),
  'login-passkey': page('account/login', base('Sign in'), { ...login, passkey, email_code: true }),
  'login-verify-totp': page('account/login-verify', base('One more step'), { ...loginVerify, verify: secondStep }),
  'login-verify-passkey': page('account/login-verify', base('One more step', withLogo), {
    ...loginVerify,
    verify: { ...secondStep, method: 'passkey', passkey },
  }),
  'login-verify-email': page('account/login-verify', base('One more step'), {
    ...loginVerify,
    client: null,
    verify: { ...secondStep, method: 'email', sent: true },
  }),
  'login-verify-wrong': page('account/login-verify', base('One more step', development), {
    ...loginVerify,
    verify: { ...secondStep, method: 'recovery_code' },
    errors: { code: 'That recovery code is incorrect or was already used. Each works once. 3 attempts are left.' },
  }),
  'login-verify-none': page('account/login-verify', base('One more step'), {
    ...loginVerify,
    expires_at: null,
    verify: { ...secondStep, methods: [], method: null },
  }),
  'login-enroll': page('account/login-enroll', base('Protect your account'), {
    client: null,
    email: 'ada@example.com',
    passkey: { ...passkey, options: null },
    totp: true,
    skip_expires_at: '2026-11-28T09:05:00.000Z',
    hidden: { return_to: '', acr_values: '' },
    return_to: '',
  }),
  'login-code': page('account/login-code', base('Sign in to Acme Notes with a code'), {
    client: notes,
    return_to: '',
    values: { email: 'ada@' },
    errors: { email: errorTexts.invalid_email },
  }),
  'login-code-verify': page('account/login-code-verify', base('Enter the code'), {
    client: null,
    sign_in_id: '019ab3c2',
    email: 'ada@example.com',
    expires_at: '2026-11-21T09:15:00.000Z',
    return_to: '',
  }),
  error: page('error', base('This sign-in cannot continue'), {
    status: 400,
    code: 'invalid_redirect_uri',
    text: 'The application that sent you here asked us to send you back to an address it has not registered.',
    next_step: 'Go back to the application and try again. If it happens again, tell its makers.',
    next: null,
    details: [],
  }),
  'error-details': page('error', base('This sign-in cannot continue'), {
    status: 400,
    code: 'invalid_redirect_uri',
    text: 'The application asked us to send you to an address that isn’t registered for it, so we stopped here.',
    next_step: 'Go back to the application and try again.',
    next: null,
    details: [
      {
        name: 'Address sent',
        values: ['https://notes.example/callback/of/a/quite/long/path?tenant=acme-notes-of-the-analytical-society'],
      },
      { name: 'Registered for this client', values: ['https://notes.example/callback', 'http://localhost:3000/callback'] },
    ],
  }),
  'error-next': page('error', base('We could not sign you in'), {
    status: 400,
    code: 'sso_state_mismatch',
    text: 'This sign-in was started in another browser, or too long ago.',
    next_step: 'Start again from the sign-in page.',
    next: { href: '/login', label: 'Go to sign-in' },
    details: [],
  }),
  register: page('account/register', base('Create an account for Acme Notes'), {
    client: notes,
    return_to: '',
    connections: connections.slice(0, 2),
  }),
  'register-invalid': page('account/register', base('Create an account'), {
    client: null,
    return_to: '',
    connections: [],
    values: { email: 'ada@acme' },
    errors: { email: errorTexts.domain_not_allowed },
  }),
  'register-verify': page('account/register-verify', base('Check your mail'), verify),
  'register-verify-invalid': page('account/register-verify', base('Check your mail', development), {
    ...verify,
    values: { code: '123456' },
    errors: { code: `${errorTexts.invalid_code} 3 attempts left.` },
    notice: { tone: 'info', text: 'We sent a new code. Earlier ones no longer work.' },
  }),
  'email-verify': page('account/email-verify', base('Enter the code'), {
    email: 'ada@new.example',
    expires_at: '2026-11-21T09:15:00.000Z',
    values: {},
  }),
  'register-complete': page('account/register-complete', base('Finish your account'), complete),
  'register-complete-passkey': page('account/register-complete', base('Your name and password'), {
    ...complete,
    passkey: { ...passkey, options: null },
  }),
  'register-complete-invalid': page('account/register-complete', base('Finish your account', withLogo), {
    ...complete,
    values: { first_name: 'Ada', last_name: '' },
    errors: { last_name: errorTexts.required, password: errorTexts.password_common },
  }),
  'password-forgot': page('account/password-forgot', base('Reset your password'), { client: notes, return_to: '' }),
  'password-reset': page('account/password-reset', base('Set a new password'), {
    reset_id: '019ab3c2',
    password_min_length: 8,
    return_to: '',
    values: { code: '482913' },
  }),
  message: page('account/message', base('Your password is set'), {
    tone: 'good',
    text: ['You can sign in with it from now on.', 'All other sessions ended.'],
    next: { href: '/login', label: 'Sign in' },
  }),
  'message-warning': page('account/message', base('Open the link again', development), {
    tone: 'warning',
    text: ['This link is not complete. Copy all of it from the mail.'],
    next: null,
  }),
  'link-account': page('account/link-account', base('Connect Google to your account'), {
    action: '/auth/sso/link',
    hidden: { link: '019ab3c2' },
    email: 'ada@example.com',
    again: false,
    connection: { display_name: 'Google', strategy: 'google' },
  }),
  'link-account-again': page('account/link-account', base('Reconnect Example Corporation to your account'), {
    action: '/auth/sso/link',
    hidden: { link: '019ab3c2' },
    email: 'ada@example.com',
    again: true,
    errors: { password: errorTexts.invalid_credentials },
    connection: { display_name: 'Example Corporation', strategy: 'oidc' },
  }),
  leaving: page('sso/leaving', base('Continue to Google'), {
    connection: { display_name: 'Google', strategy: 'google' },
    href: 'https://accounts.google.example/',
  }),
  'connection-test': page('sso/test-result', base('Test of Example Corporation'), {
    connection: { display_name: 'Example Corporation', strategy: 'oidc' },
    tone: 'good',
    verdict: 'This login would create a user with the address ada@corp.example.',
    code: null,
    detail: null,
    mapping: [
      { attribute: 'sub', claim: 'sub', value: '4f1c7c0e' },
      { attribute: 'email', claim: 'email', value: 'ada@corp.example' },
      { attribute: 'email_verified', claim: 'email_verified', value: 'true' },
      { attribute: 'first_name', claim: 'given_name', value: 'Ada' },
      { attribute: 'picture', claim: 'picture', value: '' },
    ],
    claims: JSON.stringify({ iss: 'https://id.corp.example', sub: '4f1c7c0e', email: 'ada@corp.example', email_verified: true }, null, 2),
  }),
  'connection-test-anonymous': page('sso/test-result', base('Test of Example Corporation'), {
    connection: { display_name: 'Example Corporation', strategy: 'oidc' },
    tone: 'good',
    verdict: 'The provider let somebody in, and its answer can be used.',
    code: null,
    detail: 'Whom this login would sign in, and what the provider says of them, is shown to who starts the test with users:read.',
    mapping: [
      { attribute: 'sub', claim: 'sub', value: 'found' },
      { attribute: 'email', claim: 'email', value: 'found' },
      { attribute: 'picture', claim: 'picture', value: '' },
    ],
    claims: 'iss\nsub\nemail\nemail_verified',
  }),
  'connection-test-refused': page('sso/test-result', base('Test of Example Corporation'), {
    connection: { display_name: 'Example Corporation', strategy: 'oidc' },
    tone: 'bad',
    verdict: 'The login did not get as far as a person.',
    code: 'sso_provider_error',
    detail: 'the provider answered invalid_client (client authentication failed)',
    mapping: [],
    claims: '',
  }),
  'fresh-sign-in': page('account/confirm', base('Confirm your identity'), {
    action: '/account/identities/i1/unlink',
    hidden: {},
    names: heldNames,
    email: 'ada@example.com',
    ways: { password: true, methods: [], by_mail: true, enroll: false },
    connections: [{ id: 'c1', display_name: 'Google', strategy: 'google', href: '/auth/sso/c1?prompt=login&return_to=%2Faccount' }],
    passkey: null,
    held: true,
    errors: { current_password: errorTexts.invalid_password },
  }),
  'fresh-sign-in-elsewhere': page('account/confirm', base('Confirm your identity'), {
    action: '/auth/sso/c2/connect',
    hidden: {},
    names: heldNames,
    email: 'ada@example.com',
    ways: { password: false, methods: [], by_mail: true, enroll: false },
    connections: [],
    passkey: null,
    held: true,
  }),
  confirm: page('account/confirm', base('Confirm your identity', withLogo), {
    action: '/account/confirm',
    hidden: { return_to: '/dashboard/settings' },
    names: ownNames,
    email: 'ada@example.com',
    ways: { password: false, methods: ['passkey', 'totp', 'recovery_code'], by_mail: false, enroll: false },
    connections: [],
    passkey: { rp_id: 'id.example', options_path: '/account/confirm/passkey/options', options: null, elsewhere: null },
    held: false,
  }),
  'confirm-wrong': page('account/confirm', base('Confirm your identity'), {
    action: '/dashboard/clients/c1',
    hidden: { name: 'Acme Notes', _version: '2' },
    names: heldNames,
    email: 'ada@example.com',
    ways: { password: true, methods: ['totp', 'recovery_code'], by_mail: true, enroll: true },
    connections: [{ id: 'c1', display_name: 'Google', strategy: 'google', href: '/auth/sso/c1?prompt=login&return_to=%2Faccount' }],
    passkey: null,
    held: true,
    errors: { confirm_code: 'That code is incorrect. Enter the one that your app shows now.' },
  }),
  totp: { view: 'account/totp', model: totpPage },
  'totp-wrong': {
    view: 'account/totp',
    model: { ...totpPage, errors: { code: 'That code is incorrect. Enter the one that your app shows now.' } },
  },
  'recovery-codes': page('account/recovery-codes', base('Save your recovery codes'), {
    codes: [
      'BCDFG-HJKLM',
      'NPQRS-TVWXZ',
      '23456-789BC',
      'DFGHJ-KLMNP',
      'QRSTV-WXZ23',
      '45678-9BCDF',
      'GHJKL-MNPQR',
      'STVWX-Z2345',
      '6789B-CDFGH',
      'JKLMN-PQRST',
    ],
    email: 'ada@example.com',
    account_url: 'https://id.acme.example/account',
    made_at: '2026-11-21T09:05:00.000Z',
    download: { href: 'data:text/plain;charset=utf-8,BCDFG-HJKLM', name: 'recovery-codes.txt' },
    next: { href: '/account', label: 'I’ve saved them' },
  }),
  'account-sign-in-methods': page('account/account', base('Your account'), { ...account, sign_in_methods: signInMethods }),
  'account-first-factor': page('account/account', base('Your account', development), {
    ...account,
    sign_in_methods: { ...signInMethods, authenticators: [], has_factor: false, two_step_enabled: false, devices: [] },
  }),
  'password-review': page('account/password-review', base('Your new password is set'), {
    review_token: '019ab3c2',
    return_to: '',
    sessions: account.sessions,
    identities: account.identities.map((identity) => ({ ...identity, last_login_at: identity.email && '2026-10-02T06:12:00.000Z' })),
  }),
  'invitation-accept': page('account/invitation', base('Join Acme Ltd'), { ...invitation, asked: 'accept', user_email: invitation.email }),
  'invitation-register': page('account/invitation', base('Join Acme Ltd'), { ...invitation, asked: 'register' }),
  'invitation-sign-in': page('account/invitation', base('Join Acme Ltd'), { ...invitation, asked: 'sign_in', inviter: null }),
  'invitation-other': page('account/invitation', base('Join Acme Ltd'), {
    ...invitation,
    asked: 'other_account',
    user_email: 'bob@example.com',
  }),
  'invitation-unverified': page('account/invitation', base('Join Acme Ltd'), { ...invitation, asked: 'unverified' }),
  'setup-welcome': page('setup/welcome', base('Set up Acme Ltd'), { ...setup, path: '/setup/su_sample', needs: 'setup.needs_both' }),
  'setup-steps': page('setup/steps', base('Set up Acme Ltd'), setup),
  'setup-domains': page('setup/domains', base('Domains'), {
    ...setup,
    domains: (['pending', 'verified', 'failed'] as const).map((status, index) => ({
      id: `d${index}`,
      domain: `${status}.acme.example`,
      status,
      failure_reason: status === 'verified' ? null : 'record_not_found',
      record: { record_kind: 'TXT', name: `_identity-verification.${status}.acme.example`, value: 'identity-verification=sample' },
    })),
    errors: { domain: errorTexts.invalid_value },
    values: { domain: 'gmail.com' },
  }),
  'setup-provider': page('setup/connection', base('Single sign-on'), { ...setupConnection, guide: null }),
  'setup-connection': page('setup/connection', base('Single sign-on'), setupConnection),
  'setup-connection-tested': page('setup/connection', base('Single sign-on'), {
    ...setupConnection,
    connection: { enabled: false, tested: true },
  }),
  'setup-connection-enabled': page('setup/connection', base('Single sign-on'), {
    ...setupConnection,
    connection: { enabled: true, tested: false },
  }),
  'setup-directory': page('setup/directory', base('Directory'), {
    ...setup,
    directory: {
      base_url: 'https://id.example/scim/v2/019ab3c2-0000-7000-8000-000000000151',
      token_hint: 'mple',
      last_used_at: '2026-11-21T09:05:00.000Z',
      version: 1,
    },
    token: null,
    words: [{ provider: 'Okta', place: 'Provisioning › Integration', url: 'SCIM connector base URL', token: 'HTTP Header' }],
  }),
  'setup-test': page('sso/setup-test', base('The test worked'), {
    tone: 'good',
    text: 'It works. You can enable it now.',
    code: null,
    detail: null,
    mapping: [
      { attribute: 'email', claim: 'email', value: 'ada@acme.example' },
      { attribute: 'first_name', claim: 'given_name', value: '' },
    ],
    claims: JSON.stringify({ email: 'ada@acme.example' }, null, 2),
    next: '/setup/019ab3c2-0000-7000-8000-000000000150/connection',
  }),
  leave: page('account/leave', base('Leave Acme Ltd?'), { organization: { id: '019ab3c2-0000-7000-8000-000000000141' } }),
  applications: page('account/applications', base('Apps and AI agents'), {
    authorizations: [
      {
        ...authorization,
        client_id: 'assistant',
        name: 'Acme Assistant',
        is_agent: true,
        access: [
          { api: null, scopes: ['See your email address'] },
          { api: 'Calendar', scopes: ['Read your appointments', 'Accept and decline invitations for you'] },
        ],
        approvals: [asked],
      },
      { ...authorization, client_id: 'research', name: 'Research agent', is_agent: true, origin: 'employer' },
      { ...authorization, client_id: 'shopper', name: 'Shopper', is_agent: true, blocked_by: 'person' },
      { ...authorization, client_id: 'notes', name: 'Acme Notes', origin: 'administrator', open_url: 'https://notes.example/start' },
      { ...authorization, client_id: 'old', name: 'Old desk', blocked_by: 'administrator' },
    ],
  }),
  'applications-none': page('account/applications', base('Apps and AI agents'), { authorizations: [] }),
  logout: page('account/logout', base('Sign out'), { user: ada, return_to: '' }),
  account: page('account/account', base('Your account'), account),
  'account-saved': page('account/account', base('Your account', withLogo), {
    ...account,
    has_password: false,
    identities: account.identities.slice(0, 1),
    sessions: account.sessions.slice(0, 1),
    applications: [],
    own_applications: [],
    notice: { tone: 'good', text: 'Your profile is saved.' },
    user: { ...account.user, email_verified: false },
  }),
  'account-invalid': page('account/account', base('Your account', development), {
    ...account,
    identities: [],
    errors: { birthdate: errorTexts.invalid_date, current_password: errorTexts.invalid_password },
    values: { ...account.values, birthdate: '31.12.1815' },
  }),
  consent: page('oauth/consent', base('Allow Acme Notes to access your account?'), consent),
  'consent-details': page('oauth/consent', base('Allow Acme Notes to access your account?'), { ...consent, details }),
  'consent-unverified': page('oauth/consent', base('Allow Notes Helper to access your account?'), {
    ...consent,
    client: { name: 'Notes Helper', is_agent: false, logo_uri: null, policy_uri: null, tos_uri: null },
    unverified: { whose: 'It registered itself on 22 November 2026.', local: true },
    destination: { name: 'Notes Helper', address: '127.0.0.1:33418' },
  }),
  'consent-native': page('oauth/consent', base('Allow Cursor to access your account?'), {
    ...consent,
    client: { name: 'Cursor', is_agent: false, logo_uri: null, policy_uri: null, tos_uri: null },
    destination: { name: 'Cursor', address: 'cursor:' },
    scopes: [
      ...consent.scopes.slice(0, 1),
      { name: 'orders:read', text: 'Orders', is_repeated: true },
      { name: 'orders:administrate', text: 'Orders', is_repeated: true },
    ],
  }),
  'consent-unverified-web': page('oauth/consent', base('Allow Notes Helper to access your account?'), {
    ...consent,
    client: { name: 'Notes Helper', is_agent: false, logo_uri: null, policy_uri: null, tos_uri: null },
    unverified: { whose: 'It comes from helper.example.', local: false },
  }),
  'consent-logo': page('oauth/consent', base('Allow Acme Notes to access your account?', withLogo), {
    ...consent,
    client: { ...consent.client, logo_uri: 'https://notes.example/logo.svg', policy_uri: null },
  }),
  device: page('oauth/device', base('Connect a device'), { user: ada, action: '/device', values: { user_code: '' } }),
  'device-wrong': page('oauth/device', base('Connect a device', withLogo), {
    user: ada,
    action: '/device',
    values: { user_code: 'WDJB-MJHX' },
    errors: { user_code: 'That code is incorrect or has expired. Compare it with the device, or start again there.' },
  }),
  'device-approval': page('oauth/device-approval', base('Allow Acme TV to access your account?'), approval),
  approval: page('oauth/approval', base('Acme Assistant asks for your approval'), elsewhere),
  'approval-unverified': page('oauth/approval', base('Notes Helper asks for your approval'), {
    ...elsewhere,
    details: [],
    client: { ...elsewhere.client, name: 'Notes Helper', is_agent: false },
    unverified: { whose: 'It registered itself on 22 November 2026.', local: false },
    binding_message: 'Überweisung 12/2026 – Zürich',
    organization: null,
    ip_address: null,
  }),
  'device-approval-elsewhere': page('oauth/device-approval', base('Allow Acme TV to access your account?', withLogo), {
    ...approval,
    details,
    client: { ...approval.client, logo_uri: 'https://notes.example/logo.svg', policy_uri: 'https://notes.example/privacy' },
    organization: 'Initech',
    device: { ...approval.device, ip_address: '2001:db8:85a3::8a2e:370:7334', same_network: false },
  }),
  'device-approval-unverified': page('oauth/device-approval', base('Allow Notes Helper to access your account?'), {
    ...approval,
    client: { name: 'Notes Helper', is_agent: false, logo_uri: null, policy_uri: null, tos_uri: null },
    unverified: { whose: 'It registered itself on 22 November 2026.', local: false },
  }),
  'choose-organization': page('oauth/choose-organization', base('Choose an organization'), {
    client: notes,
    user: { email: 'ada@example.com' },
    organizations: [
      { name: 'acme', display_name: 'Acme', logo_url: null },
      { name: 'initech', display_name: 'Initech Gesellschaft für angewandte Informationstechnik mbH', logo_url: null },
      { name: 'umbrella', display_name: 'Umbrella', logo_url: 'https://notes.example/logo.svg' },
    ],
    invitations: [{ name: 'hooli', display_name: 'Hooli', logo_url: null }],
    personal: '',
    other_account: '/login?return_to=%2F',
    action: '/oauth/organization',
    hidden: { request: 'sealed' },
  }),
  'choose-organization-none': page('oauth/choose-organization', base('Choose an organization', withLogo), {
    client: notes,
    user: { email: 'ada@example.com' },
    organizations: [],
    invitations: [{ name: 'hooli', display_name: 'Hooli', logo_url: null }],
    personal: null,
    other_account: '/login?return_to=%2F',
    action: '/oauth/organization',
    hidden: { request: 'sealed' },
  }),
  'logout-confirm': page('oauth/logout-confirm', base('Sign out?'), {
    client: notes,
    user: ada,
    action: '/oauth/logout',
    hidden: { state: 'abc' },
  }),
  'logged-out': page('oauth/logged-out', base('You’re signed out'), {
    client: notes,
    stays: null,
    next: { href: '/login', label: 'Sign in again' },
  }),
  'form-post': page('oauth/form-post', base('Back to Acme Notes'), {
    client: notes,
    action: 'https://notes.example/callback',
    fields: { code: 'sample', state: 'abc' },
  }),
  mailbox: page('dev/mailbox', base('Mailbox', development), { messages, to: '' }),
  'mailbox-empty': page('dev/mailbox', base('Mailbox', development), { messages: [], to: 'nobody@example.com' }),
  home: page('dev/home', base('Identity provider', development), { base_url: 'http://localhost:3000', user: null, mailbox: true }),
};

export const samplePages = new Map(Object.entries(samples));
