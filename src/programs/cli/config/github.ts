import { appendFile } from 'node:fs/promises';
import { countOf, markdownOf, type AnswerKind, type ConfigChanges } from './answer.js';
import type { FilePosition } from './located.js';

/** What a workflow of GitHub is told beside the text, when the command runs in one. */
export type Workflow = {
  /** An annotation at a line of a file. */
  error(position: FilePosition, message: string): void;
  /** A summary of the step, and its output `changes`. */
  summary(what: AnswerKind, answer: ConfigChanges): Promise<void>;
};

const inMessage = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const inProperty = (text: string) => inMessage(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** The workflow that the variables tell of, or null outside of one. */
export function workflowOf(variables: Readonly<NodeJS.ProcessEnv>, print: (text: string) => void): Workflow | null {
  if (variables['GITHUB_ACTIONS'] !== 'true') return null;
  const { GITHUB_STEP_SUMMARY: summaryFile, GITHUB_OUTPUT: outputFile } = variables;
  return {
    error: ({ file, line }, message) => print(`::error file=${inProperty(file)},line=${line}::${inMessage(message)}`),
    async summary(what, answer) {
      if (summaryFile) await appendFile(summaryFile, markdownOf(what, answer));
      if (outputFile) await appendFile(outputFile, `changes=${countOf(answer)}\n`);
    },
  };
}
