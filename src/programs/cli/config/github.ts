import { appendFile } from 'node:fs/promises';
import { countOf, markdownOf, type Told, type ToldChanges } from './answer.js';
import type { Place } from './located.js';

/** What a workflow of GitHub is told beside the text, when the command runs in one. */
export type Workflow = {
  /** An annotation at a line of a file. */
  error(place: Place, message: string): void;
  /** A summary of the step, and its output `changes`. */
  summary(what: Told, told: ToldChanges): Promise<void>;
};

const inMessage = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const inProperty = (text: string) => inMessage(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** The workflow that the variables tell of, or null outside of one. */
export function workflowOf(variables: Readonly<NodeJS.ProcessEnv>, print: (text: string) => void): Workflow | null {
  if (variables['GITHUB_ACTIONS'] !== 'true') return null;
  const { GITHUB_STEP_SUMMARY: summaryFile, GITHUB_OUTPUT: outputFile } = variables;
  return {
    error: ({ file, line }, message) => print(`::error file=${inProperty(file)},line=${line}::${inMessage(message)}`),
    async summary(what, told) {
      if (summaryFile) await appendFile(summaryFile, markdownOf(what, told));
      if (outputFile) await appendFile(outputFile, `changes=${countOf(told)}\n`);
    },
  };
}
