import type { KeyTable } from '../store/key-table.ts'
import { sandboxCaller } from './sandbox-key.ts'

/** The names of all keys, also of ended ones, by their id. */
export const readKeyNames = async (keys: Pick<KeyTable, 'list'>): Promise<Map<string, string>> =>
  new Map([
    [sandboxCaller.keyId, 'public sandbox key'],
    ...(await keys.list()).map(({ id, name }) => [id, name] as const),
  ])
