/** All variables of the process, for a command that is told the name of one. What reads the configuration takes longer to load. */
export const variablesOfProcess = (): Readonly<NodeJS.ProcessEnv> => process.env;
