import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deleteDrafts, replaceSecretFile } from '../crypto/secret-file.ts'

/** A cluster of PostgreSQL has an identifier. A standby that is promoted begins its next timeline. */
export type Timeline = { readonly system: string; readonly timeline: number }

/** The highest timeline that a node has seen of its cluster, in its data folder: a start must know it, too. */
const FILE = 'postgres.timeline'

/** Undefined if there is none, or none that can be read. */
export function readTimelineFile(dataDir: string): Timeline | undefined {
  try {
    const [, system, timeline] = /^(\d+) (\d+)\n$/.exec(readFileSync(join(dataDir, FILE), 'utf8')) ?? []
    return system === undefined ? undefined : { system, timeline: Number(timeline) }
  } catch {
    return undefined
  }
}

/** The folder may be read-only, or not there yet: then this process alone remembers it, and tries again with each connection. */
export function writeTimelineFile(dataDir: string, { system, timeline }: Timeline): void {
  const path = join(dataDir, FILE)
  try {
    deleteDrafts(path)
    replaceSecretFile(path, `${system} ${timeline}\n`)
  } catch {
    // As said above.
  }
}
