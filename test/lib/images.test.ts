// Images for branding: what is taken.
import { describe, expect, test } from 'vitest';
import { checkImage } from '../../src/lib/images/image.js';
import { jpeg, png, smallWebp, webp } from '../support/images.js';

const problem = (bytes: Buffer | string): string | undefined => {
  const checked = checkImage(Buffer.from(bytes as string));
  return 'problem' in checked ? checked.problem : undefined;
};
const typeOf = (bytes: Buffer | string) => {
  const checked = checkImage(Buffer.from(bytes as string));
  return 'problem' in checked ? checked.problem : checked.content_type;
};

describe('the type of an image', () => {
  test('is that of its content', () => {
    expect([png(), jpeg(), smallWebp].map(typeOf)).toEqual(['image/png', 'image/jpeg', 'image/webp']);
    const others = [
      '',
      'GIF89a',
      '\u00ff\u00d8',
      '%PDF-1.7',
      '{}',
      '<!doctype html><p>x',
      '<svg xmlns="http://www.w3.org/2000/svg"/>',
      '\ufeff<?xml version="1.0"?><svg/>',
    ];
    expect(others.map(problem)).toEqual(
      others.map(() => 'The image must be PNG, JPEG or WebP. Export another format, such as SVG, as PNG.'),
    );
  });

  test('is no other one behind the first, nor half of it (attack 42.821)', () => {
    const html = Buffer.from('<script>alert(1)</script>');
    for (const image of [png(), jpeg(), smallWebp]) {
      for (const bytes of [Buffer.concat([image, html]), image.subarray(0, -3), image.subarray(0, 20)])
        expect(problem(bytes)).toMatch(/damaged|is not/);
    }
    // An end within the image, another picture's header, and a segment that leads beyond the end.
    expect(problem(Buffer.concat([jpeg(), jpeg()]))).toMatch(/not JPEG alone/);
    expect(problem(jpeg(8, 8, Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 1, 0, 1, 1, 1, 0x11, 0])))).toMatch(/not JPEG alone/);
    expect(problem(jpeg(8, 8, Buffer.from([0xff, 0xe1, 0xff, 0xff])))).toMatch(/not JPEG alone/);
  });

  test('a few bytes that unfold to many pixels are refused, and nothing is unpacked to find out (attack 42.823)', () => {
    const many = (text: string) => `The image is ${text}`;
    expect(problem(png(1, 1, { width: 4096, height: 4096 }))).toBeUndefined();
    expect(problem(png(1, 1, { width: 4097, height: 1 }))).toBe(many('more than 4096 pixels wide or high.'));
    for (const image of [png(1, 1, { width: 0, height: 1 }), jpeg(0, 8)]) expect(problem(image)).toMatch(/damaged/);
    const extended = Buffer.alloc(10);
    extended.writeUIntLE(16_000_000, 4, 3);
    const lossless = Buffer.from([0x2f, 0xff, 0xff, 0xff, 0x0f]);
    const frame = Buffer.from([0, 0, 0, 0x9d, 0x01, 0x2a, 0xff, 0x3f, 0x01, 0x00]);
    for (const image of [jpeg(4097, 1), jpeg(1, 65535), webp('VP8X', extended), webp('VP8L', lossless), webp('VP8 ', frame)])
      expect(problem(image)).toBe(many('more than 4096 pixels wide or high.'));
    expect(problem(Buffer.alloc(512 * 1024 + 1, 0x89))).toBe(many('larger than 512 KiB.'));
  });
});
