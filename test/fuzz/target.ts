import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A place where bytes of others come in. */
export type Target = {
  /** Inputs to begin with: synthetic, and accepted. */
  readonly seeds: readonly Buffer[]
  /** Words that random bytes would not find. */
  readonly words?: readonly string[]
  /** Throws if what must always hold does not. Input that is refused as documented is no failure. */
  readonly run: (input: Buffer) => Promise<void> | void
  readonly close?: () => Promise<void>
}

/** Each opens its target; the modules of the product are loaded then, so that their coverage is seen. */
export const TARGETS = {
  http: async () => (await import('./targets/http.ts')).openHttpTarget(),
  batch: async () => (await import('./targets/rows.ts')).openBatchTarget(),
  import: async () => (await import('./targets/rows.ts')).openImportTarget(),
  backup: async () => (await import('./targets/backup.ts')).openBackupTarget(),
  proof: async () => (await import('./targets/signed.ts')).openProofTarget(),
  checkpoint: async () => (await import('./targets/signed.ts')).openCheckpointTarget(),
  extract: async () => (await import('./targets/signed.ts')).openExtractTarget(),
  archive: async () => (await import('./targets/signed.ts')).openArchiveTarget(),
  webhook: async () => (await import('./targets/signed.ts')).openWebhookTarget(),
  'vendor-answer': async () => (await import('./targets/vendor.ts')).openAnswerTarget(),
  'vendor-file': async () => (await import('./targets/vendor.ts')).openFileTarget(),
} as const satisfies Readonly<Record<string, () => Promise<Target>>>

export type TargetName = keyof typeof TARGETS

export const TARGET_NAMES = Object.keys(TARGETS) as TargetName[]

const CORPUS = join(import.meta.dirname, 'corpus')

/** The inputs that are kept in the repository: each reaches something that the others do not. */
export function readCorpus(name: TargetName): Buffer[] {
  const folder = join(CORPUS, name)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .toSorted()
    .map((file) => readFileSync(join(folder, file)))
}

export function writeInput(folder: string, file: string, input: Uint8Array): string {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, file)
  writeFileSync(path, input)
  return path
}

export const toCorpusFolder = (name: TargetName) => join(CORPUS, name)

/**
 * A signed file that was made once: inputs that were found by changing it stay close to it. Made anew if it is not there.
 */
export async function readGenuine(name: string, make: () => Promise<string | Uint8Array>): Promise<Buffer> {
  const path = join(import.meta.dirname, 'genuine', name)
  if (!existsSync(path)) writeInput(join(import.meta.dirname, 'genuine'), name, Buffer.from(await make()))
  return readFileSync(path)
}

/** The person of all seeds. No example in a message has these numbers. */
export const NUMBER = '74920385611'
export const PHONE_CORE = '8069247713'
export const NAMES = ['Zibbledorf', 'Quonxately'] as const

const PERSONAL = [NUMBER.slice(2, 10), PHONE_CORE.slice(1, 9), ...NAMES]

/** Fails if a text for people or programs contains something of the person. */
export function refusePersonal(text: string): void {
  if (PERSONAL.some((part) => text.includes(part))) throw new Error('a message contains personal data')
}
