/** What one run of a module found out; `fail` and `warn` as the certification suite counts them. */
export class Findings {
  readonly failures: string[] = [];
  readonly warnings: string[] = [];

  /** Notes a failure unless the condition holds. */
  must(condition: boolean, demand: string): void {
    if (!condition) this.failures.push(demand);
  }

  /** Notes a warning unless the condition holds. */
  should(condition: boolean, demand: string): void {
    if (!condition) this.warnings.push(demand);
  }

  get verdict(): 'pass' | 'warn' | 'fail' {
    return this.failures.length > 0 ? 'fail' : this.warnings.length > 0 ? 'warn' : 'pass';
  }

  /** For an assertion that shows what was found. */
  toJSON() {
    return { verdict: this.verdict, failures: this.failures, warnings: this.warnings };
  }
}

/** What a clean run looks like. */
export const pass = { verdict: 'pass', failures: [], warnings: [] };
