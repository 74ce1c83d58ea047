import { expect, test } from 'vitest';
import { checkIds } from '../../src/domain/diagnostics/check-ids.js';
import { checks } from '../../src/domain/diagnostics/checks/index.js';
import { shellWord } from '../../src/lib/shell-word.js';
import type { CheckResult, Diagnosis } from '../../src/domain/diagnostics/diagnose.js';
import { exitCodeOf, reportOf } from '../../src/programs/doctor/report.js';

const one = (level: CheckResult['level'], more: Partial<CheckResult> = {}): CheckResult => ({
  id: 'mail',
  level,
  finding: `a ${level}`,
  why: level === 'ok' || level === 'skipped' ? null : 'because',
  fix: level === 'ok' || level === 'skipped' ? null : 'SMTP_URL',
  look: null,
  subject: null,
  ...more,
});

const found = (...list: CheckResult[]): Diagnosis => ({ status: 'ok', checks: list });

test('the exit code: 1 with a problem, 2 with what counts by --fail-on, else 0', () => {
  const codes = (diagnosis: Diagnosis) => (['notice', 'warning', 'problem'] as const).map((level) => exitCodeOf(diagnosis, level));
  expect(codes(found(one('ok'), one('skipped')))).toEqual([0, 0, 0]);
  expect(codes(found(one('ok'), one('notice')))).toEqual([2, 0, 0]);
  expect(codes(found(one('notice'), one('warning')))).toEqual([2, 2, 0]);
  expect(codes(found(one('warning'), one('problem')))).toEqual([1, 1, 1]);
});

test('the worst is told first, what is well in one line, what was skipped by its reason', () => {
  const text = reportOf({
    status: 'problem',
    checks: [
      one('ok'),
      one('notice'),
      one('skipped', { id: 'tls', finding: 'no' }),
      one('warning'),
      one('problem'),
      one('skipped', { id: 'disk', finding: 'no' }),
    ],
  });
  expect(text.split('\n').filter((line) => /^\w/.test(line))).toEqual([
    'problem  mail: a problem',
    'warning  mail: a warning',
    'notice   mail: a notice',
    'skipped  tls, disk',
    'ok       mail',
    'Something is broken.',
  ]);
});

test('a command that only looks is told beside what mends', () => {
  const text = reportOf(
    found(one('problem', { fix: 'npm start', look: 'curl -sSv http://x' }), one('warning', { fix: null, look: 'pg_isready' })),
  );
  expect(text).toContain('\n         fix: npm start\n         look: curl -sSv http://x\n');
  expect(text).toMatch(/a warning\n {9}because\n {9}look: pg_isready\n/);
});

test('names that others chose move no cursor and turn no line around (attack 34.713)', () => {
  const text = reportOf(found(one('warning', { finding: 'a \u001b[2Jname\r\u202e', fix: 'x\u0007' })));
  expect(text).toContain(String.raw`a \u001b[2Jname\u000d\u202e`);
  expect(text).toContain(String.raw`fix: x\u0007`);
});

test('what others chose is one word of a command (attack 34.713)', () =>
  expect(['a', 'https://x/y', "it's", '$(x)', 'a b', ''].map(shellWord)).toEqual([
    'a',
    'https://x/y',
    String.raw`'it'\''s'`,
    "'$(x)'",
    "'a b'",
    "''",
  ]));

test('every fault says what follows and what mends it, in the project’s own names', () => {
  for (const { id, faults } of Object.values(checks))
    for (const { why, mend, when } of Object.values(faults)) {
      expect([id, why, mend, when].every((text) => text.length > 2)).toBe(true);
      expect(why).toMatch(/[.)]$/);
    }
  expect(Object.entries(checks).every(([name, { id }]) => name === id)).toBe(true);
  expect(Object.keys(checks)).toEqual(checkIds);
});
