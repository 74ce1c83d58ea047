/** The four meanings of a state, and none. */
export type Tone = 'good' | 'warning' | 'bad' | 'info' | 'quiet';
