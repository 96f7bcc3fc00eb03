import { enableCompileCache } from 'node:module'
import { isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'

// By default, Node.js opens a debugger port on this signal: a process that may send it could read every key in memory.
process.on('SIGUSR1', () => {})

// From the second start on, nothing is stripped and compiled again. Where the folder may not be written, nothing happens.
// The single executable holds its compiled code. Beside it is the user's folder, and maybe other users' too: it must not
// write there, nor run what it finds.
if (!isSea()) enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/tabbat', import.meta.url)))
// No top-level await: the single executable is a CommonJS bundle.
void import('./cli/program.ts').then(({ runProgram }) => runProgram())
