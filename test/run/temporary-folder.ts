import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

export const MEMORY = '/dev/shm'
const NEEDED_BYTES = 4e9

/**
 * Everything that a run writes is in one folder, which is removed at its end; Vitest calls this before the tests. The folder is in
 * memory where the system has enough of it: no test then waits for the disk. Tests of the program from outside use the disk.
 */
export function setup({ name }: TestProject): () => void {
  const parent = name !== 'system' && hasMemory() ? MEMORY : tmpdir()
  const folder = mkdtempSync(join(parent, 'tabbat-run-'))
  // PostgreSQL runs as another user.
  chmodSync(folder, 0o711)
  process.env.TMPDIR = folder
  return () => remove(folder)
}

const ATTEMPTS = 20

/** The data of PostgreSQL are removed by another process: a file that it removes first makes rmSync stop half-way. */
function remove(folder: string): void {
  for (let attempt = 1; existsSync(folder); attempt += 1)
    try {
      rmSync(folder, { recursive: true })
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
    }
}

/** Whether there is space, and programs may be run from there. */
function hasMemory(): boolean {
  const probe = join(MEMORY, `tabbat-probe-${process.pid}`)
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    writeFileSync(probe, '#!/bin/sh\nexit 0\n', { mode: 0o700 })
    execFileSync(probe)
    return bavail * bsize >= NEEDED_BYTES
  } catch {
    return false
  } finally {
    rmSync(probe, { force: true })
  }
}
