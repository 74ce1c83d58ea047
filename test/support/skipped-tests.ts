import type { Reporter, TestModule } from 'vitest/node';

/** Says at the end of a run which tests were skipped for want of which program: one line for each file, and one for all. */
export class SkippedForWantOfAProgram implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.flatMap((module) => {
      const { absent = [] } = module.meta();
      return absent.length === 0 ? [] : [{ path: module.relativeModuleId, absent, count: [...module.children.allTests('skipped')].length }];
    });
    if (files.length === 0) return;
    const programs = [...new Set(files.flatMap(({ absent }) => absent))].sort();
    const total = files.reduce((sum, { count }) => sum + count, 0);
    for (const { path, absent, count } of files) console.log(` skipped  ${path}: ${count} for want of ${absent.join(', ')}`);
    console.log(` ${total} tests were skipped: ${programs.join(', ')} not installed (.ci/run installs everything)\n`);
  }
}
