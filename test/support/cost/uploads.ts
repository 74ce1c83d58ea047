import { crc32 } from 'node:zlib';

const boundary = 'xyz';
const field = (name: string, value: string, more = '') =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const file = (bytes: string) => field('logo', bytes, '; filename="logo.png"\r\nContent-Type: image/png');
/** What a form with a logo says beside it. */
const first = (csrf: string) => field('_csrf', csrf) + field('slot', 'light') + field('_version', '1');
const end = `--${boundary}--\r\n`;
const kib = 1024;
/** An image is as long as it may be, the rest of a form longer than anything that is kept. */
const [ofImage, ofForm] = [500 * kib, 2_000 * kib];

const chunk = (type: string, data: Buffer) => {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, sum]).toString('latin1');
};
const header = Buffer.from([0, 0, 1, 0, 0, 0, 1, 0, 8, 6, 0, 0, 0]);
const png = `\x89PNG\r\n\x1a\n${chunk('IHDR', header)}`;

type Upload = { readonly boundary?: string; readonly body: string };

/** Forms with a file, as Latin-1, by which what takes them apart and what reads images is led astray. */
export const hostileUploads: Readonly<Record<string, (csrf: string) => Upload>> = {
  'many fields': (csrf) => ({ body: first(csrf) + field('a', 'b').repeat(ofForm / 60) + end }),
  'a long field': (csrf) => ({ body: first(csrf) + field('a', ' '.repeat(ofForm)) + end }),
  'many files': (csrf) => ({ body: first(csrf) + file('x').repeat(ofForm / 120) + end }),
  'a long header': (csrf) => ({ body: first(csrf) + field('a', 'b', `; x="${' '.repeat(ofForm)}"`) + end }),
  'many headers': (csrf) => ({ body: first(csrf) + field('a', 'b', '\r\nX-A: b'.repeat(ofForm / 10)) + end }),
  'many parameters': (csrf) => ({ body: first(csrf) + field('a', 'b', '; a="\\"'.repeat(500)) + end }),
  'almost boundaries': (csrf) => ({ body: first(csrf) + file(`\r\n--${boundary.slice(0, -1)}`.repeat(ofForm / 6)) + end }),
  'line ends': (csrf) => ({ body: first(csrf) + file('\r\n'.repeat(ofForm / 2)) + end }),
  'a long boundary': () => ({ boundary: `${'-'.repeat(20_000)}x`, body: '-'.repeat(ofForm) }),
  'without an end': (csrf) => ({ body: first(csrf) + file('x'.repeat(ofForm)) }),
  'a PNG of many chunks': (csrf) => ({ body: first(csrf) + file(png + chunk('tEXt', Buffer.from('a')).repeat(ofImage / 13)) + end }),
  'a PNG of one row again': (csrf) => ({ body: first(csrf) + file(png + chunk('IDAT', Buffer.alloc(ofImage))) + end }),
  'a JPEG of many segments': (csrf) => ({ body: first(csrf) + file(`\xff\xd8${'\xff\xe0\x00\x02'.repeat(ofImage / 4)}`) + end }),
  'a WebP of many chunks': (csrf) => ({
    body: first(csrf) + file(`RIFF\x00\x00\x07\x00WEBP${'VP8X\x00\x00\x00\x00'.repeat(ofImage / 8)}`) + end,
  }),
};

export const uploadType = ({ boundary: own = boundary }: Upload): string => `multipart/form-data; boundary=${own}`;
