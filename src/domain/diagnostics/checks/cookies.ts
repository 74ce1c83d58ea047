import { fixes } from '../../../lib/remedies.js';
import { check } from '../check.js';

export const cookiesCheck = check({
  id: 'cookies',
  title: 'Cookies',
  inspects: 'Whether `BASE_URL` is https, or an address of this machine.',
  okText: 'Cookies are sent over https, or only on this machine.',
  needs: null,
  variables: ['BASE_URL'],
  faults: {
    plain: {
      level: 'problem',
      when: '`BASE_URL` is http and not an address of this machine',
      why: 'Cookies, passwords and tokens travel readable; passkeys and other things that browsers keep for https don’t work.',
      mend: '`BASE_URL` with https, and a proxy that ends TLS',
    },
  },
  async run({ installation: { config } }) {
    if (config.secureCookies || config.loopback) return [];
    const { hostname } = new URL(config.baseUrl);
    const finding = `BASE_URL ${config.baseUrl} is plain http beyond this machine.`;
    return [{ fault: 'plain', finding, fix: fixes.setVariable('BASE_URL', `https://${hostname}`), subject: 'BASE_URL' }];
  },
});
