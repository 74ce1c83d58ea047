import { createSign, generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';

/** A certificate made for one test run, with its key; `issue` signs others with it. */
export type TestCertificate = {
  readonly cert: string;
  readonly key: string;
  readonly issue: (options: CertificateOptions) => TestCertificate;
};

export type CertificateOptions = {
  readonly name: string;
  readonly authority?: boolean;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
};

const day = 86_400_000;

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const utcTime = (date: Date) =>
  der(
    0x17,
    Buffer.from(
      `${date
        .toISOString()
        .replace(/[-:T]|\.\d+/g, '')
        .slice(2, 14)}Z`,
    ),
  );
const nameOf = (name: string) => sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(name)))));
const extension = (id: string, value: Buffer) => sequence(oid(id), der(0x04, value));
const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));

type Issuer = { readonly name: string; readonly key: KeyObject };

function make(options: CertificateOptions, issuer: Issuer | null): TestCertificate {
  const { name, authority = false, notBefore = new Date(Date.now() - day), notAfter = new Date(Date.now() + 30 * day) } = options;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extensions = [
    extension('551d13', sequence(...(authority ? [der(0x01, Buffer.from([0xff]))] : []))),
    extension('551d11', sequence(der(0x82, Buffer.from(name)))),
  ];
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([0x01]), randomBytes(8)])),
    ecdsaWithSha256,
    nameOf(issuer?.name ?? name),
    sequence(utcTime(notBefore), utcTime(notAfter)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  );
  const signature = createSign('sha256')
    .update(body)
    .sign(issuer?.key ?? privateKey);
  const certificate = sequence(body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    issue: (leaf) => make(leaf, { name, key: privateKey }),
  };
}

/** A certificate that signs itself: an authority, or a server nobody vouches for. */
export const selfSigned = (options: CertificateOptions): TestCertificate => make(options, null);
