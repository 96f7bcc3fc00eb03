import { isSea } from 'node:sea'
import { fileURLToPath } from 'node:url'
import { useCompileCache } from './settings/environment.ts'

// By default, Node.js opens a debugger port on this signal. Through it, another process could read every key in memory.
process.on('SIGUSR1', () => {})

// The single executable contains its compiled code; it must not write to the folder it is in, nor run code that it finds there.
if (!isSea()) useCompileCache(fileURLToPath(new URL('../node_modules/.cache/tabbat', import.meta.url)))
// No top-level await: the single executable is a CommonJS bundle.
void import('./cli/program.ts').then(({ runProgram }) => runProgram())
