import { inviteAccount } from '../../src/accounts/accounts.ts'
import type { NinRecord } from '../../src/contract/nin.ts'
import { sealEntry } from '../../src/registry/sealed-entry.ts'
import { openTestConsole, type TestConsole, toCookie } from './test-console.ts'

export const PASSWORD = 'a horse that reads the news'
export const REASON = 'Complaint 4711 of the customer'

/** A console whose registry has one record, with the sessions of an operator and of an owner with the password. */
type RecordConsole = {
  readonly at: TestConsole
  readonly operator: string
  readonly owner: string
}

export async function openRecordConsole(nin: string, record: NinRecord): Promise<RecordConsole> {
  const at = await openTestConsole()
  const operator = await at.openSession('operator', 'bola')
  const { store, audit, keyring } = at.context
  const { token } = await inviteAccount({ store, audit, keyring: keyring(), by: 'root (cli)' }, 'owner')
  const body = { token, name: 'chidi', password: PASSWORD }
  const owner = toCookie(await at.request('/admin/invitations/accept', { body }))
  const records = [sealEntry(keyring(), 'nin', nin, { record, mediaId: null })]
  await store.registry.save({ records, media: [], at: 1 })
  return { at, operator, owner }
}
