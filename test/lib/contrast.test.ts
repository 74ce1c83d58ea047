import { describe, expect, test } from 'vitest';
import { contrast, parseHex, readable, shade, textOn } from '../../src/lib/contrast.js';

describe('contrast', () => {
  test.each([
    ['000000', 'ffffff', 21],
    ['777777', 'ffffff', 4.48],
    ['0000ff', 'ffffff', 8.59],
    ['ffffff', 'ffffff', 1],
  ])('of %s and %s is the WCAG ratio %d, in either order', (a, b, ratio) => {
    expect(contrast(a, b)).toBeCloseTo(ratio, 1);
    expect(contrast(b, a)).toBe(contrast(a, b));
  });

  test('parseHex takes six digits with or without the sign, and nothing else', () => {
    expect(['#2B5FC7', '2b5fc7'].map(parseHex)).toEqual(['2b5fc7', '2b5fc7']);
    expect(['', '#fff', 'red', '#2b5fc7;}', '2b5fc7\n', '##2b5fc7'].map(parseHex)).toEqual([null, null, null, null, null, null]);
  });

  test('readable leaves a colour alone that reads well, and moves others in lightness only as far as needed', () => {
    expect(readable('0f6b4f', ['ffffff'], 4.5, 'black')).toBe('0f6b4f');
    const yellow = readable('f2c230', ['ffffff'], 4.5, 'black');
    expect(contrast(yellow, 'ffffff')).toBeGreaterThanOrEqual(4.5);
    expect(contrast(yellow, 'ffffff')).toBeLessThan(5);
  });

  test('shade changes lightness and keeps a grey grey', () => {
    expect(shade('808080', 0.1)).toMatch(/^(..)\1\1$/);
    expect(contrast(shade('2b5fc7', -0.1), 'ffffff')).toBeGreaterThan(contrast('2b5fc7', 'ffffff'));
  });

  test('textOn always reaches 4.5:1', () => {
    for (let red = 0; red < 256; red += 17) {
      for (let blue = 0; blue < 256; blue += 51) {
        const colour = [red, 255 - red, blue].map((value) => value.toString(16).padStart(2, '0')).join('');
        expect(contrast(textOn(colour), colour)).toBeGreaterThanOrEqual(4.5);
      }
    }
  });
});
