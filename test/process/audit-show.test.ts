import { expect, it } from 'vitest'
import { dojah } from '../../src/simulator/dojah.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { newDataDir, startServer, tabbat } from './tabbat.ts'

it("tabbat audit show prints the vendor's reference", async () => {
  const vendor = await openStandIn(dojah)
  const settings = { TABBAT_DATA_DIR: newDataDir(), TABBAT_NIN_SOURCES: 'dojah', ...vendor.settings }
  const server = await startServer({ ...settings, TABBAT_LOG_LEVEL: 'silent' })
  try {
    const made = await tabbat(settings, 'keys', 'create', '--name', 'shop', '--mode', 'live', '--json')
    const { key } = JSON.parse(made.stdout) as { key: string }
    const answer = await fetch(`${server.url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ nin: '12345678901', phone: '08035678901' }),
    })
    const { data } = (await answer.json()) as { data: { request_reference: string } }
    const { stdout } = await tabbat(settings, 'audit', 'show', data.request_reference)
    expect(stdout).toMatch(/asked dojah: found, [\d.]+ ms, the vendor's reference: dj-123-sim\n/)
  } finally {
    await server.stop()
    await vendor.close()
  }
})
