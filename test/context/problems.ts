import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/context/config.ts'
import { ConfigError } from '../../src/settings/environment.ts'

export const settingFolder = mkdtempSync(join(tmpdir(), 'tabbat-config-'))

/** Writes a file for a setting that names one, and returns its path. */
export function writeSettingFile(name: string, content: string | Uint8Array, mode = 0o600): string {
  const path = join(settingFolder, name)
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

/** What is wrong with these settings. */
export function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment, '')
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}
