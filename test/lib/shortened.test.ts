import { expect, test } from 'vitest';
import { shortened } from '../../src/lib/shortened.js';

test.each([
  ['ada', 'ada'],
  ['abcde', 'abcde'],
  ['abcdef', 'abcd…'],
  ['abc😀😀', 'abc…'],
  ['😀😀😀', '😀😀…'],
])('%s is %s where five characters are the most', (text, short) => expect(shortened(text, 5)).toBe(short));
