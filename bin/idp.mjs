#!/usr/bin/env node
// The command line as a program of its own: `idp users list` (docs/how-to/command-line.md). `npm ci` has built it.
import '../dist/programs/cli.js';
