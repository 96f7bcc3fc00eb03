import { expect, it } from 'vitest'
import { sealEntry, sealMedia } from '../../src/registry/sealed-entry.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, PHONE } from '../app.ts'
import { openTestConsole } from './test-console.ts'

const NIN = '63000000001'
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

it('gives links to pictures at the address of the API to a batch that is uploaded in the console', async () => {
  const server = await openTestConsole()
  try {
    const url = await server.app.listen({ host: '127.0.0.1', port: 0 })
    const [keys, id] = [server.context.keyring(), Buffer.alloc(16, 9)]
    const entry = { record: toNinRecord(NIN, PHONE.slice(1)), mediaId: id.toString('hex') }
    const record = sealEntry(keys, 'nin', NIN, entry)
    const media = [sealMedia(keys, id, record.subject, PNG)]
    await server.context.store.registry.save({ records: [record], media, at: Date.now() })
    const key = await server.createKey({ mode: 'live' })
    const sent = await server.request('/admin/batches', {
      method: 'POST',
      cookie: await server.openSession('operator'),
      headers: { 'content-type': 'text/csv', 'x-api-key': key },
      body: `operation,nin,phone\nverify_nin,${NIN},${PHONE}\n`,
    })
    const { body } = sent.json() as { body: { data: { id: string } } }
    const results = `${url}/api/v2/kyc/batches/${body.data.id}/results`
    const readLink = async () => {
      const row = (await (await fetch(results, { headers: bearer(key) })).json()) as {
        data: { personal_info: { image_url: string } } | null
      }
      return row.data?.personal_info.image_url
    }
    await expect.poll(readLink).toContain(`${url}/media/`)
    expect((await fetch((await readLink()) ?? '')).status).toBe(200)
  } finally {
    await server.close()
  }
})
