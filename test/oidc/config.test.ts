// The certification plan "Config OP", and what discovery promises.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pass } from '../support/conformance/findings.js';
import { startProvider, type Provider } from '../support/conformance/provider.js';
import { runModule, type Run } from '../support/conformance/run.js';
import { setEnvironment } from '../support/signed-in.js';
import { grants } from '../../src/oauth/grants/index.js';

/** Members that the certification suite's schema knows, the one that the interface demands beside them, and the two of identity assertions, whose draft it doesn't know yet. */
const knownMembers = new Set([
  'issuer', 'authorization_endpoint', 'token_endpoint', 'userinfo_endpoint', 'registration_endpoint', 'revocation_endpoint', 'introspection_endpoint',
  'end_session_endpoint', 'jwks_uri', 'scopes_supported', 'response_types_supported', 'response_modes_supported', 'grant_types_supported',
  'subject_types_supported', 'acr_values_supported', 'claim_types_supported', 'claims_supported', 'prompt_values_supported', 'ui_locales_supported',
  'token_endpoint_auth_methods_supported', 'token_endpoint_auth_signing_alg_values_supported', 'introspection_endpoint_auth_methods_supported',
  'introspection_endpoint_auth_signing_alg_values_supported', 'revocation_endpoint_auth_methods_supported',
  'revocation_endpoint_auth_signing_alg_values_supported', 'code_challenge_methods_supported', 'id_token_signing_alg_values_supported',
  'userinfo_signing_alg_values_supported',
  'request_object_signing_alg_values_supported', 'claims_parameter_supported', 'request_parameter_supported', 'request_uri_parameter_supported',
  'backchannel_logout_supported', 'backchannel_logout_session_supported', 'authorization_response_iss_parameter_supported',
  'resource_indicators_supported', 'pushed_authorization_request_endpoint', 'device_authorization_endpoint', 'backchannel_authentication_endpoint', 'backchannel_token_delivery_modes_supported', 'backchannel_user_code_parameter_supported', 'require_pushed_authorization_requests', 'authorization_signing_alg_values_supported', 'introspection_signing_alg_values_supported',
  'dpop_signing_alg_values_supported',
  'identity_chaining_requested_token_types_supported', 'authorization_grant_profiles_supported',
]); // prettier-ignore

const isText = (value: unknown) => typeof value === 'string' && value !== '';
const isTexts = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isText);

function checkDocument({ findings, metadata }: Run): void {
  for (const [name, value] of Object.entries(metadata)) {
    findings.should(knownMembers.has(name), `${name} is a known member`);
    if (name.endsWith('_endpoint') || name.endsWith('_uri'))
      findings.must(isText(value) && String(value).startsWith('https://'), `${name} is https`);
    if (/(_supported|_values)$/.test(name)) findings.must(typeof value === 'boolean' || isTexts(value), `${name} is a list or a flag`);
  }
  const issuer = new URL(String(metadata['issuer']));
  findings.must(
    issuer.protocol === 'https:' && issuer.search === '' && issuer.hash === '' && issuer.username === '',
    'the issuer is a plain https URL',
  );
  const lists = metadata as Record<string, string[] | undefined>;
  const has = (name: string, value: string) => findings.must(lists[name]?.includes(value) === true, `${name} has ${value}`);
  has('response_types_supported', 'code');
  has('subject_types_supported', 'public');
  has('id_token_signing_alg_values_supported', 'RS256');
  has('scopes_supported', 'openid');
  has('grant_types_supported', 'authorization_code');
  has('code_challenge_methods_supported', 'S256');
  findings.should(
    lists['request_object_signing_alg_values_supported']?.includes('RS256') === true,
    'request objects may be signed with RS256',
  );
  findings.should(isText(metadata['userinfo_endpoint']) && isTexts(metadata['claims_supported']), 'userinfo and its claims are listed');
}

describe('over https', () => {
  let provider: Provider;
  beforeAll(async () => {
    provider = await startProvider('https');
  });
  afterAll(() => provider?.stop());

  const run = (module: (run: Run) => Promise<void>) => runModule(provider, { scheme: 'https', response_mode: 'default' }, module);

  test('oidcc-discovery-endpoint-verification', async () => {
    const findings = await run(async (one) => checkDocument(one));
    expect(findings.toJSON()).toEqual(pass);
  });

  test('both documents say the same (RFC 8414 2)', async () => {
    const [openid, oauth] = await Promise.all(
      ['openid-configuration', 'oauth-authorization-server'].map(async (name) => {
        const response = await provider.fetch(`${provider.origin}/.well-known/${name}`);
        expect(response.headers.get('content-type')).toContain('application/json');
        return (await response.json()) as object;
      }),
    );
    expect(oauth).toEqual(openid);
  });

  test('the registration endpoint is listed only where it is switched on, and answers 404 elsewhere', async () => {
    const { service } = provider;
    await setEnvironment(service, { dynamic_registration_enabled: false });
    try {
      const response = await provider.fetch(`${provider.origin}/.well-known/openid-configuration`);
      expect(await response.json()).not.toHaveProperty('registration_endpoint');
      const refused = await provider.fetch(`${provider.origin}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      expect(refused.status).toBe(404);
    } finally {
      await setEnvironment(service, { dynamic_registration_enabled: true });
    }
  });

  test('a grant that is switched off in code is gone from both documents and from the token endpoint', async () => {
    const registry = grants as Record<string, (typeof grants)[string]>;
    const { refresh_token } = registry;
    if (!refresh_token) throw new Error('the grant is there');
    delete registry['refresh_token'];
    provider.service.deps.cache.clear();
    try {
      for (const name of ['openid-configuration', 'oauth-authorization-server']) {
        const document = (await (await provider.fetch(`${provider.origin}/.well-known/${name}`)).json()) as {
          grant_types_supported: string[];
        };
        expect(document.grant_types_supported).toEqual(Object.keys(registry));
        expect(document.grant_types_supported).not.toContain('refresh_token');
      }
      const findings = await run(async (one) => {
        const client = await one.registerClient({ grant_types: ['authorization_code'] });
        one.mustBeRefused(await one.tokenRequest(client, { grant_type: 'refresh_token', refresh_token: 'rt_x' }), 'unsupported_grant_type');
      });
      expect(findings.toJSON()).toEqual(pass);
    } finally {
      registry['refresh_token'] = refresh_token;
      provider.service.deps.cache.clear();
    }
  });
});
