import { takeCoverage } from 'node:v8'
import { afterAll } from 'vitest'

// Loaded before each test file: Vitest may end a process before it writes its coverage.
afterAll(() => takeCoverage())
