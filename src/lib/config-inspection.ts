import { distanceBetween } from './nearest.js';
import { fileVariable } from './variable-files.js';

/** What is wrong with some variables, as a sentence that shows no value. */
export type VariableProblem = { readonly variables: readonly string[]; readonly text: string };

/** A variable that nobody reads, named nearly like one of ours. `isSet`: whether that one is set too. */
export type NearbyVariable = { readonly name: string; readonly meant: string; readonly isSet: boolean };

/** What stands in the environment variables, sound or not. */
export type ConfigInspection<Config> = {
  /** Made of the variables that are sound, without DATABASE_URL where its SECRET_KEY isn't among them. */
  readonly config: Config;
  readonly problems: readonly VariableProblem[];
  readonly nearby: readonly NearbyVariable[];
};

type Present = Readonly<Record<string, string | undefined>>;

/** How many letters a name may be wrong by: the shorter it is, the sooner it means something else. */
const tolerance = (name: string): number => (name.length < 6 ? 0 : name.length < 9 ? 1 : 2);

/** The variable that somebody meant who set another one; undefined when it is none of ours. */
function meantBy(name: string, known: readonly string[]): string | undefined {
  const upper = name.toUpperCase();
  return known.find((one) => one === upper || distanceBetween(one, name, tolerance(one)) <= tolerance(one));
}

/**
 * Looks at the variables without giving up at the first wrong one.
 * @param rules.known the names of all variables; `problemsOf` lists what is wrong, each sentence beginning with the variable to change; `read` takes sound ones
 */
export function inspectVariables<Config>(
  present: Present,
  rules: { known: readonly string[]; problemsOf: (present: Present) => readonly string[]; read: (sound: NodeJS.ProcessEnv) => Config },
): ConfigInspection<Config> {
  const { known, problemsOf, read } = rules;
  const named = (text: string) => [...new Set(text.match(/\b[A-Z][A-Z_]+\b/g))].filter((name) => known.includes(name));
  const problems = problemsOf(present).map((text) => ({ variables: named(text), text }));
  const nearby = Object.keys(present).flatMap((name) => {
    const meant = known.includes(name) ? undefined : meantBy(name, known);
    return meant === undefined ? [] : [{ name, meant, isSet: present[meant] !== undefined }];
  });
  let sound = present;
  for (let texts = problemsOf(sound); texts.length > 0; texts = problemsOf(sound)) {
    const wrong = new Set(texts.flatMap(named).flatMap((name) => [name, fileVariable(name)]));
    const left = Object.fromEntries(Object.entries(sound).filter(([name]) => !wrong.has(name)));
    // Whatever is wrong then stands in none of the variables that it names.
    sound = Object.keys(left).length < Object.keys(sound).length ? left : {};
  }
  return { config: read(sound), problems, nearby };
}
