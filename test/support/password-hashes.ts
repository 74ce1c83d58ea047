// Hashes as other systems write them: those with a published vector as published, the others made by the rules of their documentation.
import { pbkdf2Sync } from 'node:crypto';

/** Of the example in Firebase's own scrypt (github.com/firebase/scrypt). */
export const firebaseKey = {
  signer_key: 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
  salt_separator: 'Bw==',
};

const password = 'correct horse battery';
const salt = Buffer.from('a salt of sixteen');
const derived = (rounds: number, bytes: number, digest: string, of = salt) => pbkdf2Sync(password, of, rounds, bytes, digest);

function aspnet(digest: 'sha1' | 'sha256' | 'sha512', rounds: number): string {
  const head = Buffer.alloc(13);
  head[0] = 1;
  [['sha1', 'sha256', 'sha512'].indexOf(digest), rounds, 16].forEach((value, index) => head.writeUInt32BE(value, 1 + 4 * index));
  const of = salt.subarray(0, 16);
  return `aspnet$${Buffer.concat([head, of, derived(rounds, 32, digest, of)]).toString('base64')}`;
}

const keycloak = (digest: 'sha1' | 'sha256' | 'sha512', rounds: number, bytes: number) =>
  `$pbkdf2-${digest}$i=${rounds}$${salt.toString('base64')}$${derived(rounds, bytes, digest).toString('base64')}`;

export const formatSamples: readonly { readonly name: string; readonly hash: string; readonly password: string }[] = [
  { name: 'Keycloak SHA-1', hash: keycloak('sha1', 20_000, 64), password },
  { name: 'Keycloak SHA-256', hash: keycloak('sha256', 27_500, 64), password },
  { name: 'Keycloak SHA-512', hash: keycloak('sha512', 30_000, 64), password },
  {
    name: 'Django',
    hash: `pbkdf2_sha256$20000$seasalt2$${derived(20_000, 32, 'sha256', Buffer.from('seasalt2')).toString('base64')}`,
    password,
  },
  {
    name: 'Django SHA-1',
    hash: `pbkdf2_sha1$20000$seasalt2$${derived(20_000, 20, 'sha1', Buffer.from('seasalt2')).toString('base64')}`,
    password,
  },
  // Of Django's own tests of its hashers.
  { name: 'Django, published', hash: 'pbkdf2_sha256$20000$seasalt$oBSd886ysm3AqYun62DOdin8YcfbU1z9cksZSuLP9r0=', password: 'lètmein' },
  {
    name: 'ASP.NET Core Identity 2',
    hash: `aspnet$${Buffer.concat([Buffer.alloc(1), salt.subarray(0, 16), derived(1_000, 32, 'sha1', salt.subarray(0, 16))]).toString('base64')}`,
    password,
  },
  { name: 'ASP.NET Core Identity 3, SHA-256', hash: aspnet('sha256', 10_000), password },
  { name: 'ASP.NET Core Identity 3, SHA-512', hash: aspnet('sha512', 100_000), password },
  {
    name: 'Firebase',
    hash: '$firebase-scrypt$ln=14,r=8$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
    password: 'user1password',
  },
  { name: 'bcrypt', hash: '$2b$05$heujPL0TnVVxhDHbpCnAg.q7JdHhYhhop9OBQr/TDHMVDcY5KKxci', password },
  { name: 'argon2i', hash: '$argon2i$v=19$m=7168,t=5,p=1$2oRDLN2aQW3QqGDLChOIZw$A+ivUL19QL/IryrT0oYNWTtjhDIRZcFARTHOFiG96Ec', password },
];
