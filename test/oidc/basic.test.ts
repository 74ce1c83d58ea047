// The modules of the certification plans "Basic OP" and "Form Post OP (basic)", by their names.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pass } from '../support/conformance/findings.js';
import { startProvider, type Provider, type Variant } from '../support/conformance/provider.js';
import { runModule } from '../support/conformance/run.js';
import { basicModules } from './basic-modules.js';

const responseModes: Variant['response_mode'][] = ['default', 'form_post'];

describe.each(['http', 'https'] as const)('over %s', (scheme) => {
  let provider: Provider;
  beforeAll(async () => {
    provider = await startProvider(scheme);
  });
  afterAll(() => provider?.stop());

  describe.each(responseModes)('response_mode=%s', (response_mode) => {
    test.each(Object.keys(basicModules))('%s', async (name) => {
      const module = basicModules[name];
      if (!module) throw new Error(`no module ${name}`);
      const findings = await runModule(provider, { scheme, response_mode }, module);
      expect(findings.toJSON()).toEqual(pass);
    });
  });
});
