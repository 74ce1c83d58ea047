import { describe, expect, test } from 'vitest';
import { checkUrl, isAllowedAddress } from '../../../src/platform/fetch/guard.js';

const closed = { allowPrivateNetwork: false };
const open = { allowPrivateNetwork: true };

const never = [
  '0.0.0.0',
  '0.1.2.3',
  '169.254.1.1',
  '169.254.169.254',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '192.0.0.8',
  '192.0.2.1',
  '198.51.100.1',
  '203.0.113.1',
  '198.18.0.1',
  '192.88.99.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  'fd00:ec2::254',
  'FD00:0EC2:0:0::254',
  'fd20:ce::254',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '::8.8.8.8',
  '::127.0.0.1',
  '2002:7f00:1::1',
  '2002:808:808::1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b::8.8.8.8',
  '64:ff9b:1::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:db8::1',
  '2001:2::1',
  '3fff::1',
  '5f00::1',
  '100::1',
  '1::1',
  '4000::1',
  '',
  'example.com',
  '1.2.3',
  '0x7f000001',
  '2130706433',
];
const onlyPrivate = [
  '127.0.0.1',
  '127.9.9.9',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '::1',
  'fc00::1',
  'fdab::1',
];
const always = ['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450:4001::1'];

describe('addresses (attack 16.186)', () => {
  test.each(never)('%s is never reached', (address) => {
    expect(isAllowedAddress(address, closed)).toBe(false);
    expect(isAllowedAddress(address, open)).toBe(false);
  });
  test.each([...onlyPrivate, '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:8.8.8.8'])(
    '%s is reached only where private networks are allowed',
    (address) => {
      expect(isAllowedAddress(address, closed)).toBe(false);
      expect(isAllowedAddress(address, open)).toBe(true);
    },
  );
  test.each(always)('%s is reached', (address) => {
    expect(isAllowedAddress(address, closed)).toBe(true);
    expect(isAllowedAddress(address, open)).toBe(true);
  });
});

describe('URLs', () => {
  test.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://127.0.0.1./',
    'https://%31%32%37.0.0.1/',
    'https://\uff11\uff12\uff17.0.0.1/',
    'https://127\u30020\u30020\u30021/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[0:0:0:0:0:0:0:1]/',
    'https://10.0.0.1:8443/',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://a.localhost/',
    'https://a.b.localhost./',
  ])('%s is refused unless private networks are allowed (attack 16.187)', (url) => {
    expect(checkUrl(url, closed)).toBe('url_address');
    expect(checkUrl(url, open)).toBeNull();
  });

  test.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://2852039166/',
    'http://0xa9.0xfe.0xa9.0xfe/',
    'http://[fd00:ec2::254]/',
    'http://[::ffff:169.254.169.254]/',
    'http://metadata.google.internal/',
    'http://METADATA.google.internal./',
    'http://instance-data/',
    'http://0/',
    'http://0.0.0.0/',
    'http://[::]/',
    'http://[fe80::1]/',
    'http://224.0.0.1/',
    'http://192.0.2.1/',
  ])('%s is refused always', (url) => {
    expect(checkUrl(url, closed)).toBe('url_scheme');
    expect(checkUrl(url, { ...closed, allowHttp: true })).toBe('url_address');
    expect(checkUrl(url, open)).toBe('url_address');
  });

  test.each([
    ['ftp://example.com/', 'url_scheme'],
    ['file:///etc/passwd', 'url_scheme'],
    ['gopher://example.com/', 'url_scheme'],
    ['data:text/plain,x', 'url_scheme'],
    ['ws://example.com/', 'url_scheme'],
    ['wss://example.com/', 'url_scheme'],
    ['javascript:alert(1)', 'url_scheme'],
    ['https://user:secret@example.com/', 'url_userinfo'],
    ['https://user@example.com/', 'url_userinfo'],
    ['https://@example.com/', 'url_userinfo'],
    ['https://example.com/#part', 'url_fragment'],
    ['https://example.com/#', 'url_fragment'],
    ['https://example.com:0/', 'url_port'],
    ['https://example.com:22/', 'url_port'],
    ['https://example.com:25/', 'url_port'],
    ['https://example.com:5432/', 'url_port'],
    ['https://example.com:6379/', 'url_port'],
    ['https://example.com:70000/', 'url_invalid'],
    ['https://exa mple.com/', 'url_invalid'],
    ['https://example.com/\r\nX-Evil: 1', 'url_invalid'],
    ['https://example.com\\@127.0.0.1/', 'url_invalid'],
    ['https:/example.com/', 'url_invalid'],
    ['https:example.com', 'url_invalid'],
    ['https:///example.com/', 'url_invalid'],
    [' https://example.com/', 'url_invalid'],
    [`https://example.com/${'x'.repeat(2048)}`, 'url_invalid'],
    ['', 'url_invalid'],
    ['example.com', 'url_invalid'],
    ['https://', 'url_invalid'],
    ['https://256.256.256.256/', 'url_invalid'],
  ])('%s is refused: %s (attack 16.192)', (url, problem) => {
    expect(checkUrl(url, closed)).toBe(problem);
    expect(checkUrl(url, open)).toBe(problem);
  });

  test('http needs private networks or a word', () => {
    expect(checkUrl('http://example.com/', closed)).toBe('url_scheme');
    expect(checkUrl('http://example.com/', { ...closed, allowHttp: true })).toBeNull();
    expect(checkUrl('http://example.com/', open)).toBeNull();
  });

  test.each([
    'https://example.com/',
    'https://example.com:8443/a?b=c',
    'https://xn--bcher-kva.example/',
    'https://8.8.8.8/',
    'https://a.internal/',
  ])('%s is accepted', (url) => {
    expect(checkUrl(url, closed)).toBeNull();
    expect(checkUrl(new URL(url), closed)).toBeNull();
  });
});
